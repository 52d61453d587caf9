"""How near the figures of one run are to another's: a prediction to a GPU's record, or one machine to another."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from torchmemlint.verify.judge import human

FIGURES = ("peak", "held", "slope", "allocated")
VARIANTS = ("bad", "good", "fixed")
NEAR = 0.02  # relative; what differs by less is the same
MOST_NAMED = 10  # cases in a sentence
FLOOR = 1 << 16  # bytes; errors are relative to no less than this, since nobody cares about less
Run = Mapping[str, Any]  # a record, or what `--json` writes


@dataclass(frozen=True)
class Row:
    """One variant of a fixture that both runs measured."""

    case: str
    variant: str
    ours: Mapping[str, Any]
    theirs: Mapping[str, Any]

    def error(self, figure: str) -> float:
        """Of our figure, relative to theirs."""
        return float((self.ours[figure] - self.theirs[figure]) / max(abs(self.theirs[figure]), FLOOR))

    def near(self, figure: str) -> bool:
        """Is our figure the same, but for a little?"""
        return abs(self.error(figure)) <= NEAR

    def exact(self, figure: str) -> bool:
        """Is it the same to the byte?"""
        return bool(self.ours[figure] == self.theirs[figure])

    @property
    def differs(self) -> list[str]:
        """The figures that are not near, in words."""
        return [
            f"{figure} {human(self.ours[figure])}, recorded {human(self.theirs[figure])}"
            for figure in FIGURES
            if not self.near(figure)
        ]


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side. `verdicts`: (ours, theirs) of each case; the rest names what can't be compared."""

    rows: Sequence[Row]
    verdicts: Mapping[str, tuple[str, str]]
    changed: Collection[str] = ()  # cases of which some program is not the one that was recorded
    only_theirs: Collection[str] = ()  # cases that we did not measure, or not as the rest
    only_ours: Collection[str] = ()

    @property
    def otherwise(self) -> dict[str, tuple[str, str]]:
        """The cases whose verdicts differ."""
        return {name: pair for name, pair in self.verdicts.items() if pair[0] != pair[1]}

    def cases(self, holds: Sequence[bool]) -> tuple[int, int]:
        """(in how many cases something holds for every variant, of how many). `holds`: one for each row."""
        found: dict[str, bool] = {}
        for row, one in zip(self.rows, holds):
            found[row.case] = found.get(row.case, True) and one
        return sum(found.values()), len(found)


def compared(ours: Run, theirs: Run) -> Comparison:
    """Our run against theirs. Cases that the virtual GPU could not run are no predictions, and not compared."""
    meter = ours["environment"]["meter"]
    mine = {name: case for name, case in ours["cases"].items() if case["meter"] == meter}
    recorded = {name: case for name, case in theirs["cases"].items() if case["meter"]}
    both = [name for name in mine if name in recorded]
    pairs = [(name, mine[name], recorded[name]) for name in both]
    return Comparison(
        rows=[row for pair in pairs for row in _rows(*pair)],
        verdicts={name: (one["verdict"], other["verdict"]) for name, one, other in pairs},
        changed=[name for name, one, other in pairs if any(_another(one, other, v) for v in VARIANTS)],
        only_theirs=[name for name in recorded if name not in mine],
        only_ours=[name for name in mine if name not in recorded],
    )


def _rows(name: str, one: Run, other: Run) -> Iterator[Row]:
    for variant in VARIANTS:
        ours, theirs = one.get(variant), other.get(variant)
        if ours is None or theirs is None or _another(one, other, variant):
            continue
        if ours["status"] == theirs["status"] == "ok":
            yield Row(name, variant, ours, theirs)


def _another(one: Run, other: Run, variant: str) -> bool:
    """Do the two runs have different programs as this variant?"""
    programs = {run[variant].get("program") for run in (one, other) if variant in run} - {None}
    return len(programs) > 1


def closeness(found: Comparison) -> str:
    """How near our figures are to the record's, in one paragraph."""
    if not found.rows:
        return "nothing to compare: the record has none of these fixtures"
    parts = []
    for figure in FIGURES:
        errors = [abs(row.error(figure)) for row in found.rows]
        near, exact = share(row.near(figure) for row in found.rows), share(row.exact(figure) for row in found.rows)
        spread = f"median {median(errors):.1%}, worst {max(errors):.0%}"
        parts.append(f"{figure} within {NEAR:.0%} in {near:.0%}, exact in {exact:.0%} ({spread})")
    same = len(found.verdicts) - len(found.otherwise)
    words = [
        f"{len(found.rows)} variants: {'; '.join(parts)}",
        f"Verdict the same in {same} of {len(found.verdicts)} cases",
    ]
    names = ("changed since", found.changed), ("recorded only", found.only_theirs), ("measured only", found.only_ours)
    words += [f"{what.capitalize()}: {_listed(cases)}" for what, cases in names if cases]
    return ". ".join(words) + "."


def _listed(cases: Collection[str]) -> str:
    return ", ".join(cases) if len(cases) <= MOST_NAMED else f"{len(cases)} cases"


def share(holds: Iterator[bool]) -> float:
    """Which part of them is true; 0 of none."""
    said = list(holds)
    return sum(said) / len(said) if said else 0.0
