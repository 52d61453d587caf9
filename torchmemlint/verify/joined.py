"""Joins recorded bytes with the findings of the same lines."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from torchmemlint.findings import Diagnostic, Severity

MOST_UNEXPLAINED = 8
RISES = 3
LEAST = 64 << 10  # bytes; lines with less are not worth a row


@dataclass(frozen=True)
class Line:
    """A line of the program and what was measured there, in bytes."""

    path: str
    row: int
    at_peak: int = 0  # of the bytes alive at the peak, those allocated while this line ran
    innermost: int = 0  # of these, those that no deeper line of the program allocated
    most: int = 0  # most alive at once
    growth: int = 0  # how far the bytes alive rose, step after step, without falling back


@dataclass(frozen=True)
class Measured:
    """A finding and the line of it, or of what led to it, that has the most bytes; None where nothing was recorded."""

    finding: Diagnostic
    line: Line | None

    @property
    def weight(self) -> tuple[int, int, int]:
        """What findings are ordered by: growth first, then the peak."""
        if self.line is None:
            return 0, 0, 0
        growth = self.line.growth if self.line.growth >= LEAST else 0
        return growth, self.line.at_peak, self.line.most


def read_records(folder: Path) -> list[dict[str, Any]]:
    """What the recorders of all the program's processes wrote."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]


def lines_of(record: dict[str, Any]) -> dict[tuple[str, int], Line]:
    """All lines of a record."""
    at_peak: dict[str, int] = {}
    innermost: dict[str, int] = {}
    for stack, size in record["at_peak"]:
        for line in set(stack):
            at_peak[line] = at_peak.get(line, 0) + size
        if stack:
            innermost[stack[0]] = innermost.get(stack[0], 0) + size
    found = {}
    for name in {*at_peak, *record["most"]}:
        path, _, row = name.rpartition(":")
        sizes = [sample.get(name, 0) for sample in record["samples"]]
        numbers = at_peak.get(name, 0), innermost.get(name, 0), record["most"].get(name, 0), growth(sizes)
        found[path, int(row)] = Line(path, int(row), *numbers)
    return found


def growth(sizes: Sequence[int]) -> int:
    """The highest climb of the floor, which is the least of a few neighbouring samples: what each step takes and gives
    back lies above the floor. A climb of less than RISES stairs is something that was made once."""
    width = max(2, len(sizes) // 8)
    floors = [min(sizes[i : i + width]) for i in range(len(sizes) - width + 1)]
    best = rises = start = 0
    for before, after in zip([0, *floors], floors):
        if after < before:
            start, rises = after, 0
        rises += after > before
        if rises >= RISES:
            best = max(best, after - start)
    return best


def join(lines: dict[tuple[str, int], Line], findings: Iterable[Diagnostic]) -> list[Measured]:
    """The findings with their bytes, the heaviest first."""
    joined = [Measured(finding, _heaviest(lines, finding)) for finding in findings]
    order = {"error": 0, "warning": 1, "hint": 2}
    return sorted(joined, key=lambda m: (*(-w for w in m.weight), order[m.finding.severity.value], m.finding.row))


def places(finding: Diagnostic) -> list[tuple[str, int]]:
    """The lines that a finding is about: its own, to its end, and those that led to it."""
    own = [(finding.filename, row) for row in range(finding.row, min(finding.end_location.row, finding.row + 20) + 1)]
    led = [(related.filename, related.location.row) for related in finding.related]
    return [(os.path.abspath(path), row) for path, row in own + led]  # noqa: PTH100


def _heaviest(lines: dict[tuple[str, int], Line], finding: Diagnostic) -> Line | None:
    """Of the finding's lines; where it says that memory grows, or its lines made nothing, also of those whose values
    its line reads: what is kept was made there."""
    there = [lines[place] for place in places(finding) if place in lines]
    if not there or finding.severity is Severity.ERROR:
        path = os.path.abspath(finding.filename)  # noqa: PTH100
        there += [lines[path, row] for row in assigned_before(path, finding.row) if (path, row) in lines]
    return max(there, key=lambda line: (line.growth, line.at_peak, line.most), default=None)


@cache
def assigned_before(path: str, row: int) -> tuple[int, ...]:
    """The rows on which the names that row `row` reads were last assigned above it: a line that only keeps a value
    allocates nothing itself."""
    try:
        module = ast.parse(Path(path).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return ()
    names = [node for node in ast.walk(module) if isinstance(node, ast.Name)]
    read = {node.id for node in names if node.lineno == row and isinstance(node.ctx, ast.Load)}
    written = [(node.id, node.lineno) for node in names if isinstance(node.ctx, ast.Store) and node.lineno < row]
    last = {name: line for name, line in sorted(written, key=lambda item: item[1]) if name in read}
    return tuple(sorted(last.values()))


def unexplained(lines: dict[tuple[str, int], Line], joined: Sequence[Measured]) -> list[Line]:
    """The lines that hold the most at the peak by themselves, and that no finding is about."""
    explained = {place for measured in joined for place in places(measured.finding)}
    heavy = [line for place, line in lines.items() if place not in explained and line.innermost >= LEAST]
    return sorted(heavy, key=lambda line: (-line.growth, -line.innermost))[:MOST_UNEXPLAINED]
