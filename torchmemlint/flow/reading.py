"""Where names are read last: the statement behind which they can be deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.enclosing import block, statement
from torchmemlint.flow.graph import Op
from torchmemlint.flow.liveness import liveness

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow


def last_reader(flow: FunctionFlow, binds: list[Op], work: Op) -> cst.SimpleStatementLine | None:
    """The last line that reads any of the bound names before `work`; None where a `del` of all of them behind it could
    fail or repeat: a name that is not surely bound there, a read in a condition or loop, a read behind `work`."""
    names = {bind.path for bind in binds}
    reads = [p for p in liveness(flow).timeline.points if p.kind == "read" and p.name in names and p.node is not None]
    if not reads or any(p.kind == "read all" for p in liveness(flow).timeline.points):
        return None
    lines = [statement(flow, p.node) for p in reads if p.node is not None]
    last = lines[-1]
    if last is None or _behind(flow, last, work):
        return None
    own = block(flow, last)
    for bind in binds:
        line = statement(flow, bind.node)
        read_there = any(p.name == bind.path for p, where in zip(reads, lines) if where is last)
        if line is None or not (read_there or any(s is line for s in own)):
            return None
    return last if not work.loops or _outside(flow, last, work) else None


def _behind(flow: FunctionFlow, line: cst.SimpleStatementLine, work: Op) -> bool:
    return flow.unit.span(line)[0] >= flow.unit.span(work.node)[0]


def _outside(flow: FunctionFlow, line: cst.SimpleStatementLine, work: Op) -> bool:
    """Does no operation of the line run in a loop? Else `del` would fail the second time round."""
    start, end = flow.unit.span(line)
    inside = [op for op in flow.ops if start <= flow.unit.span(op.node)[0] < end]
    return all(not op.loops for op in inside)
