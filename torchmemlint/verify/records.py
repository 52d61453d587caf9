"""Records: the figures of a run, kept with the device and versions that they were measured on.

A record is a JSON object. `environment` and `cases` have all figures; beside them each rule's code has the few that
`explain` and the JSON report show, of the fixture in which the rule's effect is largest."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from torchmemlint.verify.judge import CONFIRMED, MEASURES, WORST_FIRST, Outcome, figures
from torchmemlint.verify.run import Setting, Verified, tally
from torchmemlint.verify.usage import Usage

FORMAT = 1
_COMMENT = re.compile(r"[ \t]*#.*")  # a mark of the linter's tests makes no other program
_ENVIRONMENT = {"meter": str, "device": str, "torch": str, "date": str}
_CARD = {"driver": str, "cuda": str}  # of a record that was measured on one
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
        **({"figures": _figures(result)} if case.figures else {}),
        **{variant: _outcome(outcome, _text(result, variant)) for variant, outcome in result.outcomes.items()},
    }


def _figures(result: Verified) -> dict[str, dict[str, Any]]:
    """Of a fact: what is claimed, and the median of what was measured; null where nothing was."""
    repeats = next(iter(result.outcomes.values())).value or [] if result.outcomes else []
    found = {name: [values[name] for values in repeats if name in values] for name in result.case.figures}
    return {
        name: {"claimed": claim, "measured": median(found[name]) if found[name] else None}
        for name, claim in result.case.figures.items()
    }


def _text(result: Verified, variant: str) -> str:
    return (result.fixed_text or "") if variant == "fixed" else result.case.text


def _outcome(outcome: Outcome, text: str) -> dict[str, Any]:
    if not outcome.ok:
        return {"status": outcome.status, "message": outcome.message}
    repeats = [usage.peak for usage in outcome.repeats]
    spread = max(repeats) - min(repeats) if repeats else 0
    program = hashlib.sha256(_COMMENT.sub("", text).encode()).hexdigest()[:12]
    return {"status": "ok", "program": program, "repeats": len(repeats), "spread": spread, **outcome.usage.as_dict()}


def record(written: dict[str, Any]) -> dict[str, Any]:
    """What is kept of `as_json`: no timelines, the date of each case, and a summary for each rule."""
    day = {"date": written["environment"]["date"]}
    cases = {name: {**day, **_without_timelines(case)} for name, case in written["cases"].items() if case["meter"]}
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
    measure = MEASURES[case["effect"] or "peak"]
    return {
        "effect": case["effect"],
        "measured": figures(case["effect"], bad, good),
        "bad_bytes": int(measure.of(bad)),
        "good_bytes": int(measure.of(good)),
        "fixture": name.partition("/")[2],
        "device": environment["device"],
        "torch": environment["torch"],
        "date": case["date"],
    }


def _waste(case: dict[str, Any]) -> float:
    measure = MEASURES[case["effect"] or "peak"]
    return measure.of(Usage.from_dict(case["bad"])) - measure.of(Usage.from_dict(case["good"]))


def write_record(written: dict[str, Any], folder: str | None, part: bool = False) -> Path:
    """Write the record of this device and torch version; returns its path. `part`: the cases of a record that is there
    stay unless they were measured again. Raises RecordError, OSError."""
    env = written["environment"]
    words = f"{env['device']} torch {env['torch'].partition('+')[0]}"
    home = Path(folder) if folder else Path(__file__).parent / "records"
    path = home / f"{re.sub(r'[^a-z0-9.]+', '-', words.lower()).strip('-')}.json"
    old = load(str(path))["cases"] if part and path.is_file() else {}
    kept = record({**written, "cases": {**old, **record(written)["cases"]}})
    problems = list(problems_of(kept))
    if problems:
        raise RecordError(f"the record would be broken: {'; '.join(problems[:3])}")
    home.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
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
    environment = data.get("environment")
    cuda = isinstance(environment, dict) and str(environment.get("meter")).startswith("cuda")
    yield from _wrong(environment, {**_ENVIRONMENT, **(_CARD if cuda else {})}, "environment")
    cases = data.get("cases")
    if not isinstance(cases, dict):
        yield "cases is no object"
        return
    for name, case in cases.items():
        yield from _wrong_case(name, case)


def _wrong_case(name: str, case: Any) -> Iterator[str]:
    yield from _wrong(case, {"code": str, "effect": str, "meter": str, "verdict": str, "claims": list}, name)
    if not isinstance(case, dict) or not case.get("meter"):
        return
    if case.get("verdict") not in WORST_FIRST:
        yield f"{name}: there is no verdict {case.get('verdict')!r}"
    if "figures" in case:
        yield from _wrong_figures(name, case["figures"])
    for variant in ("fact",) if "figures" in case else ("bad", "good"):
        found = case.get(variant)
        ok = isinstance(found, dict) and found.get("status") == "ok"
        yield from _wrong(found, _USAGE if ok else {"status": str, "message": str}, f"{name}, {variant}")


def _wrong_figures(name: str, figures: Any) -> Iterator[str]:
    if not isinstance(figures, dict) or not figures:
        yield f"{name}: figures is no object with a fact's figures"
        return
    for figure, pair in figures.items():
        yield from _wrong(pair, {"claimed": str}, f"{name}, {figure}")
        if isinstance(pair, dict) and not isinstance(pair.get("measured"), (int, float, type(None))):
            yield f"{name}, {figure}: measured is {pair['measured']!r}, not a number"


def _wrong(data: Any, keys: Mapping[str, type], where: str) -> Iterator[str]:
    if not isinstance(data, dict):
        yield f"{where} is no object"
        return
    for key, kind in keys.items():
        if not isinstance(data.get(key), kind):
            yield f"{where}: {key} is {data.get(key)!r}, not of type {kind.__name__}"
