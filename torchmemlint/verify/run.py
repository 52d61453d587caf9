"""Measures cases and judges them: which meter, which variants, in which order, and what to do when one can't."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torchmemlint.verify.cases import FACT, Case
from torchmemlint.verify.judge import (
    BROKEN,
    CONFIRMED,
    INCONCLUSIVE,
    SKIPPED,
    Claim,
    Outcome,
    amount_claim,
    effect_claim,
    figure_claim,
    fix_claim,
    middle,
    result_claim,
    worst,
)
from torchmemlint.verify.pool import Pool
from torchmemlint.verify.usage import Usage

REAL = ("cuda", "xpu", "mps", "mtia")  # device types with memory of their own


class SetupError(Exception):
    """The asked-for meter can't work here; the message says why."""


@dataclass(frozen=True)
class Plan:
    """How to measure. `device`: auto, virtual, cpu or a device of torch; `limit` in bytes, `timeout` in seconds."""

    device: str = "auto"
    repeat: int = 1
    timeout: float = 60.0
    limit: int = 8 << 30


@dataclass(frozen=True)
class Setting:
    """What the plan came to on this machine."""

    meter: str
    environment: dict[str, Any]
    word: str = ""  # why it is not the meter one would expect

    @property
    def real(self) -> bool:
        """Is a device's own memory measured?"""
        return self.meter.partition(":")[0] in REAL


@dataclass(frozen=True)
class Verified:
    """A case with its measurements and verdicts. `meter` is empty for a skipped one."""

    case: Case
    meter: str = ""
    outcomes: dict[str, Outcome] = field(default_factory=dict)  # bad, good, fixed; or fact
    claims: tuple[Claim, ...] = ()
    note: str = ""
    fixed_text: str | None = None

    @property
    def verdict(self) -> str:
        """The worst of the claims' verdicts; confirmed where nothing is claimed and everything ran."""
        return worst([claim.verdict for claim in self.claims]) if self.claims or not self.meter else CONFIRMED


def prepare(plan: Plan, pool: Pool) -> Setting:
    """Find a meter that works. Raises SetupError for a named one that doesn't."""
    if plan.device == "auto":
        tried = _try(plan, pool, "cuda")
        if tried["status"] == "ok":
            return Setting("cuda", tried["environment"])
        return _without_gpu(plan, pool)
    tried = _try(plan, pool, plan.device)
    if tried["status"] == "ok":
        return Setting(plan.device, tried["environment"])
    if plan.device == "virtual":
        return _without_gpu(plan, pool)
    raise SetupError(f"can't measure on {plan.device}: {tried['message'].partition(': ')[2] or tried['message']}")


def _without_gpu(plan: Plan, pool: Pool) -> Setting:
    tried = _try(plan, pool, "virtual")
    if tried["status"] == "ok":
        return Setting("virtual", tried["environment"])
    word = f"the virtual GPU does not work with this torch ({tried['message']}); real CPU tensors are counted instead"
    tried = _try(plan, pool, "cpu")
    if tried["status"] != "ok":
        raise SetupError(f"can't measure: {tried['message']}")
    return Setting("cpu", tried["environment"], word)


def _try(plan: Plan, pool: Pool, meter: str) -> dict[str, Any]:
    """Try a meter out; where CUDA refuses to start in a forked process, new interpreters do the work from now on."""
    job = {"meter": meter, "path": "", "text": "", "variant": "probe", "limit": plan.limit, "timeout": 180.0}
    tried = pool.run(job)
    if tried["status"] != "ok" and "fork" in tried.get("message", "") and pool.fork:
        pool.fork = False
        tried = pool.run(job)
    return tried


def verify(cases: Sequence[Case], plan: Plan, setting: Setting, pool: Pool) -> Iterator[Verified]:
    """The fixtures in their order, several at a time, then the facts, one by one: some of them measure time."""
    fixtures, facts = [c for c in cases if not c.figures], [c for c in cases if c.figures]
    yield from pool.map(lambda case: verify_case(case, plan, setting, pool), fixtures)
    yield from (verify_case(case, plan, setting, pool) for case in facts)


def verify_case(case: Case, plan: Plan, setting: Setting, pool: Pool) -> Verified:
    """Measure the variants of one case and judge its claims. What only a GPU can prove may be predicted, never refuted
    without one."""
    if case.device != "cuda" or setting.real:
        return _verified(case, plan, setting, pool)
    if setting.meter == "virtual":
        predicted = _verified(case, plan, setting, pool)
        if predicted.verdict == CONFIRMED and predicted.meter == "virtual":
            return replace(predicted, note="predicted; only a GPU can prove it")
        unlike = [f"{c.name} {c.verdict}, {c.detail}" for c in predicted.claims if c.verdict != CONFIRMED]
        if unlike and predicted.meter == "virtual" and predicted.verdict != BROKEN:
            return Verified(case, note=f"only a GPU can show this; the prediction says otherwise: {'; '.join(unlike)}")
    return Verified(case, note="only a GPU can show this")


def _verified(case: Case, plan: Plan, setting: Setting, pool: Pool) -> Verified:
    if case.figures:
        return _verified_fact(case, plan, setting, pool)
    fixed = _fixed(case)
    texts = {"bad": case.text, "good": case.text, **({"fixed": fixed} if fixed is not None else {})}
    outcomes, meter, note = _outcomes(case, texts, plan, setting, pool)
    claims = tuple(_claims(case, outcomes, setting.real))
    return Verified(case, meter, outcomes, claims, note, fixed)


def _verified_fact(case: Case, plan: Plan, setting: Setting, pool: Pool) -> Verified:
    meter, note = setting.meter, ""
    outcome = _measure(case, FACT, case.text, meter, plan, pool)
    if meter == "virtual" and not outcome.ok and not case.device:
        meter, note = "cpu", f"not predicted for a GPU, {outcome.message}: real CPU tensors are counted"
        outcome = _measure(case, FACT, case.text, meter, plan, pool)
    return Verified(case, meter, {FACT: outcome}, tuple(_figure_claims(case, outcome)), note)


def _figure_claims(case: Case, outcome: Outcome) -> Iterator[Claim]:
    if not outcome.ok:
        yield Claim(FACT, BROKEN, f"{outcome.status}: {outcome.message}")
        return
    for name, claim in case.figures.items():
        found = [figures[name] for figures in outcome.value or () if name in figures]
        yield figure_claim(name, claim, found) if found else Claim(name, INCONCLUSIVE, "no such figure was measured")


def _fixed(case: Case) -> str | None:
    try:
        return case.fixed()
    except Exception as error:  # a rule that fails here is found by the tests of the linter
        return f"raise RuntimeError({f'the fix failed: {error}'!r})\n"


def _outcomes(
    case: Case, texts: dict[str, str], plan: Plan, setting: Setting, pool: Pool
) -> tuple[dict[str, Outcome], str, str]:
    """(outcome of each variant, the meter they all share, a word when that is not the setting's)."""
    if setting.meter != "virtual":
        return {v: _measure(case, v, texts[v], setting.meter, plan, pool) for v in texts}, setting.meter, ""
    real = {v: _measure(case, v, texts[v], "cpu", plan, pool) for v in texts}
    predicted: dict[str, Outcome] = {}
    for variant, text in texts.items():
        if not real[variant].ok:
            break
        outcome = _measure(case, variant, text, "virtual", plan, pool)
        unlike = _unlike(outcome, real[variant])
        if unlike:
            return real, "cpu", f"not predicted for a GPU, {unlike}: real CPU tensors are counted"
        predicted[variant] = replace(outcome, value=real[variant].value)
    if len(predicted) < len(texts):
        return real, "cpu", ""
    return predicted, "virtual", ""


def _unlike(predicted: Outcome, real: Outcome) -> str:
    """Why a prediction says nothing about the real program; empty when it does."""
    if not predicted.ok:
        return predicted.message
    steps, real_steps = len(predicted.usage.samples), len(real.usage.samples)
    return f"whose control flow depends on values ({steps} steps, not {real_steps})" if steps != real_steps else ""


def _measure(case: Case, variant: str, text: str, meter: str, plan: Plan, pool: Pool) -> Outcome:
    job = {
        "meter": meter,
        "path": str(case.path),
        "text": text,
        "variant": "bad" if variant == "fixed" else variant,
        "limit": plan.limit,
        "timeout": plan.timeout,
    }
    usages: list[Usage] = []
    value: list[dict[str, Any]] | None = None
    for _ in range(1 if meter in ("virtual", "cpu") else plan.repeat):
        result = pool.run(job)
        if result["status"] != "ok":
            return Outcome(result["status"], result["message"])
        usages.append(Usage.from_dict(result["usage"]))
        value = [*(value or ()), *result["value"]] if case.figures else result["value"]
    return Outcome("ok", "", middle(usages), value, tuple(usages))


def _claims(case: Case, outcomes: dict[str, Outcome], real: bool) -> Iterator[Claim]:
    bad, good = outcomes["bad"], outcomes["good"]
    for variant in ("bad", "good"):
        if not outcomes[variant].ok:
            yield Claim(variant, BROKEN, f"{outcomes[variant].status}: {outcomes[variant].message}")
    if not (bad.ok and good.ok):
        return
    effect = effect_claim(case.effect, bad, good) if case.effect else None
    if effect is not None:
        yield effect
    if case.claim and (effect is None or effect.verdict != INCONCLUSIVE):
        yield amount_claim(case.claim, case.effect or "peak", bad.usage, good.usage)
    tolerance = case.tolerance if case.tolerance is not None else 2e-3 if real else None  # convolutions run in TF32
    yield result_claim("result", bad, good, tolerance)
    yield from _fix_claims(case, outcomes, tolerance)


def _fix_claims(case: Case, outcomes: dict[str, Outcome], tolerance: float | None) -> Iterator[Claim]:
    bad, good, fixed = outcomes["bad"], outcomes["good"], outcomes.get("fixed")
    claim = fix_claim(case.fix, case.effect, bad, fixed, good)
    if claim is not None and fixed is not None and fixed.ok:
        result = result_claim("fix", fixed, good, tolerance)
        claim = result if result.verdict != CONFIRMED else claim
    if claim is not None:
        yield claim


def tally(results: Sequence[Verified]) -> dict[str, int]:
    """How many cases have each verdict."""
    return {verdict: sum(r.verdict == verdict for r in results) for verdict in {r.verdict for r in results} | {SKIPPED}}
