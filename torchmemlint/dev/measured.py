"""What `verify` measured, and what it had predicted, as Markdown: the README and docs/verify.md quote no figure that
was typed. The record of a GPU lies in the package, the prediction in docs/predictions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torchmemlint.verify.closeness import NEAR, VARIANTS, Comparison, Row, compared
from torchmemlint.verify.judge import CONFIRMED, figure_text, human

GOALS = {"peak": 0.9, "held": 0.95}  # of the fixtures: peak near, what is held exact
NOTHING = 4 << 10  # bytes; less is written as 0
_MARK = r"<!-- {0}: begin[^\n]*-->\n.*?<!-- {0}: end -->"
_WORDS = {"peak": "peak ", "held": "held ", "copies": "allocated ", "grows": ""}


@dataclass(frozen=True)
class Measurements:
    """The newest record and the newest prediction of a checkout; empty where there is none."""

    record: dict[str, Any] = field(default_factory=dict)
    prediction: dict[str, Any] = field(default_factory=dict)

    @property
    def sections(self) -> dict[str, str]:
        """The text of each section that a page may have."""
        if not self.record:
            return {}
        found = {"measured": summary(self.record), "facts": facts(self.record)}
        if self.prediction:
            comparison = compared(self.prediction, self.record)
            found["closeness"] = closeness(self, comparison)
            found["fixtures"] = fixtures(self.record, comparison)
        return found


def load(root: Path) -> Measurements:
    """Those of the checkout at `root`."""
    return Measurements(_newest(root / "torchmemlint" / "verify" / "records"), _newest(root / "docs" / "predictions"))


def _newest(folder: Path) -> dict[str, Any]:
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return max(found, key=_when, default={})


def _when(run: dict[str, Any]) -> tuple[str, str]:
    return run["environment"]["date"], run["environment"].get("time", "")


def filled(text: str, sections: dict[str, str]) -> str:
    """The text with each section between its markers renewed; a section without markers stays out."""
    for name, body in sections.items():
        head = f"<!-- {name}: begin (made by `python -m torchmemlint.dev docs`) -->"
        whole = f"{head}\n{body}\n<!-- {name}: end -->"
        text = re.sub(_MARK.format(name), lambda _, whole=whole: whole, text, flags=re.DOTALL)  # type: ignore[misc]
    return text


def ratio(found: dict[str, Any] | None) -> str:
    """A rule's figure for the tables, as a ratio: `peak 3.1× → 1×`; a dash where nothing was measured."""
    if not found:
        return "–"
    if found["effect"] not in _WORDS:
        return "no bytes"
    bad, good = found["bad_bytes"], found["good_bytes"]
    if good < NOTHING:
        shown = f"{human(bad)} → 0"
    else:
        shown = f"{'>100' if bad > 100 * good else f'{bad / good:.1f}'}× → 1×"
    return f"{_WORDS[found['effect']]}{shown}{' a step' if found['effect'] == 'grows' else ''}"


def sentence(found: dict[str, Any] | None) -> str:
    """A rule's figure for its section."""
    if not found:
        return ""
    where = f"the fixture `{found['fixture']}` on an {found['device']}, torch {found['torch']}, {found['date']}"
    return f"{found['measured']}: {where}."


def summary(record: dict[str, Any]) -> str:
    """Where it was measured and how many claims hold."""
    env, cases = record["environment"], record["cases"]
    parts = [(kind, [c for n, c in cases.items() if ("figures" in c) is fact]) for kind, fact in _KINDS]
    told = [f"{_right(found)} of {len(found)} {kind}" for kind, found in parts if found]
    others = [f"`{name}` {case['verdict']}" for name, case in cases.items() if case["verdict"] != CONFIRMED]
    driver = f"driver {env['driver']}, " if "driver" in env else ""
    end = f" The others: {', '.join(others)}." if others else ""
    return (
        f"On an {env['device']} ({driver}torch {env['torch']}, {env['date']}) every claim of {' and '.join(told)} was "
        f"confirmed.{end}"
    )


_KINDS = (("fixtures", False), ("facts", True))


def _right(cases: Sequence[dict[str, Any]]) -> int:
    return sum(case["verdict"] == CONFIRMED for case in cases)


def facts(record: dict[str, Any]) -> str:
    """The figures of all facts: what is claimed, and what was measured."""
    lines = ["| fact | figure | claimed | measured |", "| --- | --- | --- | --- |"]
    for name, case in record["cases"].items():
        for figure, pair in case.get("figures", {}).items():
            measured = "–" if pair["measured"] is None else figure_text(pair["measured"], pair["claimed"])
            lines.append(f"| {name.rpartition('/')[2]} | {figure} | {pair['claimed']} | {measured} |")
    return "\n".join(lines) if len(lines) > 2 else "No facts are recorded yet."


def closeness(found: Measurements, comparison: Comparison) -> str:
    """How many fixtures, and how many of their programs, were predicted; and by name which were not."""
    rows = comparison.rows
    tests = (
        (f"peak within {NEAR:.0%}", GOALS["peak"], [row.near("peak") for row in rows]),
        ("held at the end, exact to the byte", GOALS["held"], [row.exact("held") for row in rows]),
        ("growth per step, exact", None, [row.exact("slope") for row in rows]),
        (f"sum of allocations within {NEAR:.0%}", None, [row.near("allocated") for row in rows]),
    )
    lines = [_origin(found), "", "| | goal | fixtures | programs |", "| --- | --- | --- | --- |"]
    for title, goal, holds in tests:
        shown = "–" if goal is None else f"{goal:.0%}"
        lines.append(f"| {title} | {shown} | {_part(*comparison.cases(holds))} | {_part(sum(holds), len(holds))} |")
    same = len(comparison.verdicts) - len(comparison.otherwise)
    lines.append(f"| the same verdict | all but those named | {_part(same, len(comparison.verdicts))} | |")
    return "\n".join([*lines, "", *_named(comparison)])


def _origin(found: Measurements) -> str:
    ours, theirs = found.prediction["environment"], found.record["environment"]
    older = _when(found.prediction) < _when(found.record)
    sample = (
        "The prediction is the older one: the figures are out of sample."
        if older
        else ("The prediction is not older than the measurement, so the figures are in sample.")
    )
    return (
        f"Predicted {' '.join(_when(found.prediction))} with torch {ours['torch']}, calibration "
        f"`{ours.get('calibration', 'unknown')}`; measured {' '.join(_when(found.record)).strip()} on an "
        f"{theirs['device']} with torch {theirs['torch']}. {sample} A fixture counts when all of its programs do."
    )


def _part(some: int, of: int) -> str:
    return f"{some / of:.1%} ({some} of {of})" if of else "–"


def _named(comparison: Comparison) -> Iterator[str]:
    """What is left out, and what the prediction missed."""
    named = (
        ("Another verdict than predicted", [f"`{n}` ({a}, not {b})" for n, (b, a) in comparison.otherwise.items()]),
        ("Not predicted: only a GPU can show it, or it came later", [f"`{name}`" for name in comparison.only_theirs]),
        (
            "Changed since they were measured, and compared only in the programs that are the same",
            [f"`{name}`" for name in comparison.changed],
        ),
        ("Not measured yet", [f"`{name}`" for name in comparison.only_ours]),
    )
    for what, names in named:
        if names:
            yield f"{what}: {', '.join(names)}.\n"
    misses = [row for row in comparison.rows if not (row.near("peak") and row.near("held"))]
    if misses:
        yield "The programs whose peak or held bytes are off by more:\n"
        yield "| program | peak predicted → measured | held predicted → measured |\n| --- | --- | --- |"
        yield from (_miss(row) for row in misses)


def _miss(row: Row) -> str:
    cells = (f"{human(row.ours[key])} → {human(row.theirs[key])}" for key in ("peak", "held"))
    return f"| {row.case} {row.variant} | {' | '.join(cells)} |"


def fixtures(record: dict[str, Any], comparison: Comparison) -> str:
    """Every fixture: what was measured, and how far the prediction was off for its bad, good and mended program."""
    rows: dict[str, list[Row]] = {}
    for row in comparison.rows:
        rows.setdefault(row.case, []).append(row)
    lines = [
        f"| fixture | claim | measured | error of the predicted peak: {', '.join(VARIANTS)} | of held | verdict |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, case in record["cases"].items():
        if "figures" not in case:
            lines.append(
                f"| {name} | {case['effect']} | {_effect(case)} | {_errors(rows.get(name, ()))} | {case['verdict']} |"
            )
    return "\n".join(lines)


def _effect(case: dict[str, Any]) -> str:
    return next((claim["detail"] for claim in case["claims"] if claim["name"] == "effect"), "–")


def _errors(rows: Sequence[Row]) -> str:
    if not rows:
        return "not predicted | –"
    held = "exact" if all(row.exact("held") for row in rows) else ", ".join(f"{row.error('held'):+.1%}" for row in rows)
    peak = ", ".join(f"{row.error('peak'):+.1%}" for row in rows)
    return f"{peak} | {held}"
