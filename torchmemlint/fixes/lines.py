"""Statements as lines of the file: rows, indentation, and where one ends although functions in it are left out."""

from __future__ import annotations

import libcst as cst

from torchmemlint.fixes.plan import Ground, Refused


def row_of(place: Ground, offset: int) -> int:
    """1-based row of a byte offset."""
    return place.unit.source.location(offset).row


def line_end(place: Ground, row: int) -> int:
    """Byte offset just behind the row's line end."""
    starts = place.unit.source.line_starts
    return starts[row] if row < len(starts) else len(place.data)


def statement_start(place: Ground, statement: cst.CSTNode) -> int:
    """Where a whole statement begins, its first decorator included."""
    decorators = getattr(statement, "decorators", ())
    return place.span(decorators[0] if decorators else statement)[0]


def end_row(place: Ground, statement: cst.CSTNode) -> int:
    """The last row of a whole statement; functions that the module's unit leaves out count."""
    end = place.span(statement)[1]
    row = row_of(place, max(end - 1, 0))
    if not place.unit.function.name:
        functions = place.unit.index.functions.values()
        row = max([row, *(f.end_line for f in functions if f.name and f.first_line <= row <= f.end_line)])
    return row


def indentation(place: Ground, start: int) -> str:
    """The blanks before `start` on its line. Refused where code precedes it there."""
    begin = place.unit.source.line_starts[row_of(place, start) - 1]
    before = place.data[begin:start].decode("utf-8")
    if before.strip(" \t"):
        raise Refused("not at the start of its line")
    return before


def is_artificial(place: Ground, block: cst.CSTNode) -> bool:
    """Whether the block is what the unit wraps around its function, not a block of the file that is wholly there."""
    unit = place.unit
    if not unit.function.name:
        return False
    tree = unit.concrete
    first = tree.body[0] if tree.body else None
    return block is tree or (unit.shift < place.first and block is getattr(first, "body", None))
