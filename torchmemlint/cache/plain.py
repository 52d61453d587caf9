"""Findings as JSON and back. What does not look like a finding raises ValueError."""

from __future__ import annotations

from typing import Any

from torchmemlint.findings import Diagnostic, Edit, Fix, Location, Related, Severity


def dumped(d: Diagnostic) -> list[Any]:
    """A finding as lists of text and numbers."""
    related = [[r.message, r.filename, _from(r.location), _from(r.end_location)] for r in d.related]
    fix = None
    if d.fix is not None:
        edits = [[e.start, e.end, e.content, _from(e.location), _from(e.end_location)] for e in d.fix.edits]
        fix = [d.fix.message, edits, d.fix.safe, d.fix.reason]
    places = [_from(d.location), _from(d.end_location)]
    return [d.filename, d.row, d.column, d.code, d.message, *places, d.name, d.severity.value, related, fix,
            d.noqa_row, d.end_offset]  # fmt: skip


def loaded(data: Any) -> Diagnostic:
    """The finding that `dumped` made these lists of. Raises ValueError."""
    try:
        filename, row, column, code, message, start, end, name, severity, related, fix, noqa_row, end_offset = data
        return Diagnostic(
            _text(filename),
            _to(start),
            _number(row),
            _number(column),
            _text(code),
            _text(message),
            _to(end),
            _text(name),
            Severity(severity),
            tuple(Related(_text(m), _text(f), _to(a), _to(b)) for m, f, a, b in related),
            _fix(fix),
            _number(noqa_row),
            _number(end_offset),
        )
    except (TypeError, KeyError) as error:
        raise ValueError(str(error)) from None


def _fix(data: Any) -> Fix | None:
    if data is None:
        return None
    message, edits, safe, reason = data
    made = tuple(Edit(_number(a), _number(b), _text(c), _to(d), _to(e)) for a, b, c, d, e in edits)
    return Fix(_text(message), made, safe is True, _text(reason))


def _from(location: Location) -> list[int]:
    return [location.row, location.column, location.cell]


def _to(data: Any) -> Location:
    row, column, cell = data
    return Location(_number(row), _number(column), _number(cell))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _number(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError("not a number")
    return value
