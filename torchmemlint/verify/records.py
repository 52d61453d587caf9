"""Records: the figures of a run, kept with the device and versions that they were measured on.

A record is a JSON object. `environment` and `cases` have all figures; beside them each rule's code has the few that
`explain` and the JSON report show, of the fixture in which the rule's effect is largest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from torchmemlint.verify.judge import CONFIRMED, MEASURES, Outcome, figures
from torchmemlint.verify.run import Setting, Verified, tally
from torchmemlint.verify.usage import Usage

FORMAT = 1
FIGURES = ("peak", "held", "slope", "allocated")
NEAR = 0.02  # relative; what differs by less is the same
_ENVIRONMENT = {"meter": str, "device": str, "torch": str, "date": str}
_USAGE = {"samples": list, "peaks": list, "peak": int, "held": int, "allocated": int, "allocations": int}


class RecordError(Exception):
    """A record can't be used; the message says which and why."""


def as_json(results: Sequence[Verified], setting: Setting) -> dict[str, Any]:
    """Everything that was measured, as JSON."""
    return {
        "format": FORMAT,
        "environment": setting.environment,
        "summary": tally(results),
        "cases": {result.case.name: _case(result) for result in results},
    }


def _case(result: Verified) -> dict[str, Any]:
    case = result.case
    return {
        "code": case.code,
        "effect": case.effect,
        "meter": result.meter,
        "verdict": result.verdict,
        "note": result.note,
        "claims": [{"name": c.name, "verdict": c.verdict, "detail": c.detail} for c in result.claims],
        **{variant: _outcome(outcome) for variant, outcome in result.outcomes.items()},
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    if not outcome.ok:
        return {"status": outcome.status, "message": outcome.message}
    repeats = [usage.peak for usage in outcome.repeats]
    spread = max(repeats) - min(repeats) if repeats else 0
    return {"status": "ok", "repeats": len(repeats), "spread": spread, **outcome.usage.as_dict()}


def record(written: dict[str, Any]) -> dict[str, Any]:
    """What is kept of `as_json`: no timelines, and a summary for each rule."""
    cases = {name: _without_timelines(case) for name, case in written["cases"].items() if case["meter"]}
    codes = sorted({case["code"] for case in cases.values() if case["code"]})
    kept = {"format": FORMAT, "environment": written["environment"], "cases": cases}
    summaries = ((code, _of_rule(code, cases, written["environment"])) for code in codes)
    return {**kept, **{code: found for code, found in summaries if found}}


def _without_timelines(case: dict[str, Any]) -> dict[str, Any]:
    dropped = ("timeline", "marks")
    return {
        key: {k: v for k, v in value.items() if k not in dropped} if isinstance(value, dict) else value
        for key, value in case.items()
    }


def _of_rule(code: str, cases: dict[str, Any], environment: dict[str, Any]) -> dict[str, Any] | None:
    """The summary of a rule: its confirmed case with the most wasted bytes."""
    confirmed = {n: c for n, c in cases.items() if c["code"] == code and c["verdict"] == CONFIRMED}
    if not confirmed:
        return None
    name = max(confirmed, key=lambda n: (confirmed[n]["effect"] not in ("none", ""), _waste(confirmed[n])))
    case = confirmed[name]
    bad, good = (Usage.from_dict(case[variant]) for variant in ("bad", "good"))
    return {
        "effect": case["effect"],
        "measured": figures(case["effect"], bad, good),
        "fixture": name.partition("/")[2],
        "device": environment["device"],
        "torch": environment["torch"],
        "date": environment["date"],
    }


def _waste(case: dict[str, Any]) -> float:
    measure = MEASURES[case["effect"] or "peak"]
    return measure.of(Usage.from_dict(case["bad"])) - measure.of(Usage.from_dict(case["good"]))


def write_record(written: dict[str, Any], folder: str | None) -> Path:
    """Write the record of this device and torch version; returns its path. Raises RecordError, OSError."""
    kept = record(written)
    problems = list(problems_of(kept))
    if problems:
        raise RecordError(f"the record would be broken: {'; '.join(problems[:3])}")
    home = Path(folder) if folder else Path(__file__).parent / "records"
    home.mkdir(parents=True, exist_ok=True)
    env = kept["environment"]
    words = f"{env['device']} torch {env['torch'].partition('+')[0]}"
    path = home / f"{re.sub(r'[^a-z0-9.]+', '-', words.lower()).strip('-')}.json"
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return path


def load(name: str) -> dict[str, Any]:
    """A record, or a file that `--json` wrote. Raises RecordError."""
    try:
        data = json.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecordError(f"{name} can't be read: {error}") from None
    problems = list(problems_of(data))
    if problems:
        raise RecordError(f"{name} is not a record: {'; '.join(problems[:3])}")
    return dict(data)


def problems_of(data: Any) -> Iterator[str]:
    """What breaks the schema, one sentence each."""
    if not isinstance(data, dict):
        yield "it is no object"
        return
    if data.get("format") != FORMAT:
        yield f"format is {data.get('format')!r}, not {FORMAT}"
    yield from _wrong(data.get("environment"), _ENVIRONMENT, "environment")
    cases = data.get("cases")
    if not isinstance(cases, dict):
        yield "cases is no object"
        return
    for name, case in cases.items():
        yield from _wrong(case, {"code": str, "effect": str, "meter": str, "verdict": str, "claims": list}, name)
        for variant in ("bad", "good") if isinstance(case, dict) and case.get("meter") else ():
            found = case.get(variant)
            ok = isinstance(found, dict) and found.get("status") == "ok"
            yield from _wrong(found, _USAGE if ok else {"status": str, "message": str}, f"{name}, {variant}")


def _wrong(data: Any, keys: Mapping[str, type], where: str) -> Iterator[str]:
    if not isinstance(data, dict):
        yield f"{where} is no object"
        return
    for key, kind in keys.items():
        if not isinstance(data.get(key), kind):
            yield f"{where}: {key} is {data.get(key)!r}, not of type {kind.__name__}"


def compared(ours: dict[str, Any], theirs: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each variant that both have: relative errors of our figures, and what differs by more than NEAR."""
    rows = []
    for name, case in ours["cases"].items():
        other = theirs["cases"].get(name)
        for variant in ("bad", "good", "fixed"):
            mine, recorded = case.get(variant), (other or {}).get(variant)
            if mine and recorded and mine["status"] == recorded["status"] == "ok":
                rows.append(_row(name, variant, case, other, mine, recorded))
    return rows


def _row(name: str, variant: str, case: Any, other: Any, mine: Any, recorded: Any) -> dict[str, Any]:
    errors = {key: _error(mine[key], recorded[key]) for key in FIGURES}
    differs = [f"{k} {mine[k]:g}, recorded {recorded[k]:g}" for k, e in errors.items() if abs(e) > NEAR]
    if case["verdict"] != other["verdict"]:
        differs.append(f"{case['verdict']}, recorded {other['verdict']}")
    verdicts = case["verdict"], other["verdict"]
    return {"case": name, "variant": variant, "errors": errors, "differs": differs, "verdicts": verdicts}


def _error(ours: float, theirs: float) -> float:
    """Relative to the recorded figure, but never to less than 64 KiB: bytes that nobody cares about."""
    return (ours - theirs) / max(abs(theirs), 1 << 16)


def closeness(rows: Sequence[dict[str, Any]]) -> str:
    """How near our figures are to the record's, in one paragraph."""
    if not rows:
        return "nothing to compare: the record has none of these fixtures"
    parts = []
    for key in FIGURES:
        errors = [abs(row["errors"][key]) for row in rows]
        near = sum(error <= NEAR for error in errors) / len(errors)
        parts.append(f"{key} within {NEAR:.0%} in {near:.0%} (median {median(errors):.1%}, worst {max(errors):.0%})")
    cases = {row["case"]: row["verdicts"] for row in rows}
    same = sum(a == b for a, b in cases.values())
    return f"{len(rows)} variants: {'; '.join(parts)}. Verdict the same in {same} of {len(cases)} cases."
