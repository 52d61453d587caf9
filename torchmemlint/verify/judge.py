"""From measurements to verdicts. Pure arithmetic: no torch, no files."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from torchmemlint.verify.usage import Usage

KIB, MIB = 1 << 10, 1 << 20
CONFIRMED, REFUTED, INCONCLUSIVE, BROKEN, SKIPPED = "confirmed", "refuted", "inconclusive", "broken", "skipped"
WORST_FIRST = (BROKEN, REFUTED, INCONCLUSIVE, CONFIRMED, SKIPPED)
RATIO, LEAST = 1.2, MIB  # a higher peak, or more held, by less than this is not an effect
LEAST_GROWTH = 256 * KIB  # per step
CLAIM_TOLERANCE = 0.1  # relative, of a figure that a fixture claims
CURE = 0.1  # of the waste that a fix may leave
TOLERANCES = {"float64": 1e-7, "float16": 1e-2, "bfloat16": 3e-2}  # relative, of results by their type
_AMOUNT = re.compile(r"((?P<bound>[<>]=)\s*)?(?P<number>\d+(\.\d+)?)\s*(?P<unit>[x×]|[KMG]iB|B)")
FIGURE_TOLERANCE = 0.02  # relative, of a fact's figure; NOTHING: of one that is claimed to be zero
NOTHING = {"x": 0.01, "×": 0.01, "B": 16 * KIB}
_UNITS = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": 1 << 30}


@dataclass(frozen=True)
class Outcome:
    """What came of one variant, measured once or several times."""

    status: str  # ok | failed | oom | timeout | crashed
    message: str = ""
    usage: Usage = field(default_factory=Usage)
    value: list[dict[str, Any]] | None = None
    repeats: tuple[Usage, ...] = ()

    @property
    def ok(self) -> bool:
        """Did it run to its end?"""
        return self.status == "ok"


@dataclass(frozen=True)
class Claim:
    """One thing that a fixture says and what the measurement says to it."""

    name: str  # effect | amount | result | fix
    verdict: str
    detail: str = ""


@dataclass(frozen=True)
class Measure:
    """The figure that an effect is about."""

    of: Callable[[Usage], float]
    words: str

    def text(self, usage: Usage) -> str:
        """The figure of a usage in readable units."""
        return f"{self.words.format(human(self.of(usage)))}"


MEASURES = {
    "grows": Measure(lambda u: u.slope, "{} a step"),
    "peak": Measure(lambda u: float(u.peak), "peak {}"),
    "held": Measure(lambda u: float(u.held), "{} held"),
    "copies": Measure(lambda u: float(u.allocated), "{} allocated"),
    "none": Measure(lambda u: float(u.peak), "peak {}"),
}
EFFECTS = tuple(MEASURES)


def human(size: float) -> str:
    """Bytes in the unit that reads best: 8 MiB, 1.25 MiB, -512 B."""
    unit = next((u for u in ("GiB", "MiB", "KiB") if abs(size) >= _UNITS[u]), "B")
    return f"{round(size / _UNITS[unit], 2):g} {unit}"


def shows(effect: str, bad: Usage, good: Usage) -> bool:
    """Does `bad` use the memory that `effect` claims, measured against `good`? Raises ValueError for no effect."""
    if effect == "grows":
        return bad.slope >= 4 * max(good.slope, 0) + LEAST_GROWTH
    if effect in ("peak", "held"):
        worse, better = MEASURES[effect].of(bad), MEASURES[effect].of(good)
        return worse >= RATIO * better and worse >= better + LEAST
    if effect == "copies":
        return bad.allocated >= good.allocated + LEAST
    if effect == "none":
        return alike(bad, good)
    raise ValueError(f"no such effect: {effect}")


def alike(a: Usage, b: Usage) -> bool:
    """The same memory, but for 2 percent."""
    return not _differing(a, b)


def _differing(a: Usage, b: Usage) -> list[str]:
    """The effects in whose measure the two are not alike."""
    pairs = {effect: (MEASURES[effect].of(a), MEASURES[effect].of(b)) for effect in ("peak", "held", "copies")}
    found = [effect for effect, (x, y) in pairs.items() if abs(x - y) > 0.02 * max(x, y)]
    return found + (["grows"] if abs(a.slope - b.slope) >= 64 * KIB else [])


def cured(effect: str, bad: Usage, fixed: Usage, good: Usage) -> bool:
    """Does `fixed` give back at least nine tenths of what `bad` wastes, in the measure of `effect`?"""
    if effect == "none":
        return alike(fixed, good)
    worst, ours, best = (MEASURES[effect].of(usage) for usage in (bad, fixed, good))
    return ours - best <= CURE * max(worst - best, 0) + 16 * KIB


def same(a: Any, b: Any, tolerance: float | None = None) -> str:
    """Why two digests differ beyond what the order of additions explains; empty when they don't."""
    if a is None or b is None:
        return "no result was read"
    if len(a) != len(b):
        return f"{len(a)} values against {len(b)}"
    for x, y in zip(a, b):
        if x.get("shape", []) != y.get("shape", []) or len(x["values"]) != len(y["values"]):
            return f"shape {x.get('shape')} against {y.get('shape')}"
        allowed = tolerance if tolerance is not None else max(TOLERANCES.get(t["type"], 1e-4) for t in (x, y))
        scale = max((abs(v) for v in x["values"] if _number(v)), default=0.0)
        for v, w in zip(x["values"], y["values"]):
            if not _close(v, w, allowed, scale):
                return f"{v} against {w}"
    return ""


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _close(a: Any, b: Any, tolerance: float, scale: float) -> bool:
    if not (_number(a) and _number(b)):
        return bool(a == b or (a != a and b != b))
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance * max(0.01 * scale, 0.01))


def effect_claim(effect: str, bad: Outcome, good: Outcome) -> Claim:
    """Is the effect there? Every pair of repeats has to say the same."""
    if not bad.usage.samples or not good.usage.samples:
        return Claim("effect", INCONCLUSIVE, "probe() was never called")
    if effect == "grows" and min(len(bad.usage.samples), len(good.usage.samples)) < 3:
        return Claim("effect", INCONCLUSIVE, "fewer than three steps show no growth: call probe() in each")
    said = {shows(effect, b, g) for b, g in zip(bad.repeats or (bad.usage,), good.repeats or (good.usage,))}
    detail = figures(effect, bad.usage, good.usage)
    if effect == "none" and said == {False}:
        detail = "; ".join(figures(of, bad.usage, good.usage) for of in _differing(bad.usage, good.usage))
    if len(said) > 1:
        return Claim("effect", INCONCLUSIVE, f"the repeats differ; {detail}")
    return Claim("effect", CONFIRMED if said.pop() else REFUTED, detail)


def figures(effect: str, bad: Usage, good: Usage) -> str:
    """`peak 24 MiB → 8 MiB (3x)`, in the measure of the effect."""
    measure = MEASURES[effect or "peak"]
    worse, better = measure.of(bad), measure.of(good)
    ratio = ""
    if better > 0 and worse > 0:
        ratio = " (>100×)" if worse > 100 * better else f" ({worse / better:.2f}×)"
    return f"{measure.words.format(f'{human(worse)} → {human(better)}')}{ratio}"


def amount_claim(claim: str, effect: str, bad: Usage, good: Usage) -> Claim:
    """Is the claimed figure right? `2.5x` is the ratio of bad to good, `8 MiB` their difference."""
    match = _AMOUNT.fullmatch(claim.strip())
    if match is None:
        return Claim("amount", INCONCLUSIVE, f"CLAIM is {claim!r}: write it as 2.5x or 8 MiB")
    worse, better = MEASURES[effect].of(bad), MEASURES[effect].of(good)
    if match["unit"] in "x×":
        claimed, found = float(match["number"]), worse / better if better > 0 else math.inf
        said = f"{claimed:g}× claimed, {found:.2f}× measured"
    else:
        claimed, found = float(match["number"]) * _UNITS[match["unit"]], worse - better
        said = f"{human(claimed)} claimed, {human(found)} measured"
    holds = _holds(found, match["bound"], claimed, CLAIM_TOLERANCE * claimed)
    return Claim("amount", CONFIRMED if holds else REFUTED, said)


def figure_claim(name: str, claim: str, found: Sequence[float]) -> Claim:
    """Is a fact's figure what is claimed, in every repeat? `2x`, `8 MiB`, or a bound, `>= 1.1x`."""
    match = _AMOUNT.fullmatch(claim.strip())
    if match is None:
        return Claim(name, INCONCLUSIVE, f"the claim is {claim!r}: write it as 2x, >= 1.1x or 8 MiB")
    unit = match["unit"]
    claimed = float(match["number"]) * (1 if unit in "x×" else _UNITS[unit])
    told = dict.fromkeys(figure_text(value, claim) for value in (min(found), max(found)))
    said = f"{claim.strip()} claimed, {' to '.join(told)} measured"
    allowed = FIGURE_TOLERANCE * claimed or NOTHING.get(unit, NOTHING["B"])
    holds = all(_holds(value, match["bound"], claimed, allowed) for value in found)
    return Claim(name, CONFIRMED if holds else REFUTED, said)


def _holds(found: float, bound: str | None, claimed: float, allowed: float) -> bool:
    if bound:
        return found >= claimed if bound == ">=" else found <= claimed
    return abs(found - claimed) <= allowed


def figure_text(value: float, claim: str) -> str:
    """A fact's figure in the unit of its claim."""
    return f"{round(value, 2) + 0:g}×" if claim.rstrip().endswith(("x", "×")) else human(value)


def result_claim(name: str, ours: Outcome, good: Outcome, tolerance: float | None) -> Claim:
    """Does it return what good returns?"""
    if ours.value is None or good.value is None:
        return Claim(name, INCONCLUSIVE, "the results were not compared")
    difference = same(ours.value, good.value, tolerance)
    return Claim(name, REFUTED if difference else CONFIRMED, f"results differ: {difference}" if difference else "equal")


def fix_claim(fix: str, effect: str, bad: Outcome, fixed: Outcome | None, good: Outcome) -> Claim | None:
    """Does the fixed text keep the result and cure? None where no fix is claimed and none is offered."""
    if fixed is None:
        return Claim("fix", REFUTED, "the rule offers no fix") if fix else None
    if not fixed.ok:
        return Claim("fix", BROKEN, f"{fixed.status}: {fixed.message}")
    if fix == "numbers" or not effect:
        return Claim("fix", CONFIRMED, "same result")
    detail = figures(effect, bad.usage, fixed.usage)
    return Claim("fix", CONFIRMED if cured(effect, bad.usage, fixed.usage, good.usage) else REFUTED, detail)


def middle(usages: Sequence[Usage]) -> Usage:
    """The one among repeats whose peak is the median."""
    target = median(usage.peak for usage in usages)
    return min(usages, key=lambda usage: abs(usage.peak - target))


def worst(verdicts: Sequence[str]) -> str:
    """The verdict of a case from those of its claims; skipped for none."""
    return next((verdict for verdict in WORST_FIRST if verdict in verdicts), SKIPPED)
