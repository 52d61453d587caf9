"""Pairs of rows that a function of the project is handed, and computes with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmemlint.flow.graph import Op
from torchmemlint.flow.layout import single
from torchmemlint.flow.lifetimes import applied_flow
from torchmemlint.flow.patterns import operands
from torchmemlint.flow.values import Value

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow


def handed_pairs(flow: FunctionFlow, call: Op) -> Iterator[tuple[Op, list[Value]]]:
    """The operations of a called function on two of its parameters to which the call hands tensors that have a
    dimension of one element: with what the call hands in, in their order."""
    stretched = [a for a in call.arguments if single(a.value).left or single(a.value).right]
    info = flow.program.called(call) if len(stretched) >= 2 else None
    inner = applied_flow(flow, call) if info is not None else None
    if info is None or inner is None:
        return
    bound = flow.program.callers.bound(info, call)
    for op in inner.named("arith", "torch.sub", "torch.mul"):
        places = [_position(inner, value) for value in operands(op)]
        given = [a.value for p in places if p is not None and p < len(bound) and (a := bound[p]) is not None]
        if len(given) == len(places) == 2:
            yield op, given


def _position(flow: FunctionFlow, value: Value) -> int | None:
    """Which of the function's parameters the value is."""
    made = value.defs[0] if len(value.defs) == 1 else None
    return flow.parameters.index(made) if made is not None and made in flow.parameters else None
