"""What the author says of a call in a comment beside or right above it: then it stands there on purpose."""

from __future__ import annotations

from torchmemlint.flow.graph import Op
from torchmemlint.flow.patterns import bare


def explained(op: Op) -> bool:
    """Does a comment on the operation's lines, or on those right above its statement, name the operator?"""
    name, source = bare(op), op.unit.source
    start, end = op.unit.locations(op.node)
    rows = list(range(start.row, end.row + 1))
    first = op.unit.locations(op.statement)[0].row if op.statement is not None else start.row
    while source.line(first - 1).lstrip().startswith("#"):
        first -= 1
        rows.append(first)
    return bool(name) and any(name in source.line(row).partition("#")[2] for row in rows)
