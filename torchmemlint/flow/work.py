"""Which operations do the heavy work: forward and backward passes, and calls of project functions that run them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmemlint.flow.graph import Op
from torchmemlint.flow.lifetimes import applied_flow

if TYPE_CHECKING:
    from torchmemlint.flow.exceptions import Handler
    from torchmemlint.flow.function import FunctionFlow

WORK = frozenset({"module", "backward", "custom", "torch.autograd.grad"})


def failed_work(flow: FunctionFlow, handler: Handler) -> Iterator[Op]:
    """Forward passes, backward calls and calls that run them in the try body of a handler."""
    for op in flow.ops:
        if handler.attempt in op.attempts and works(flow, op):
            yield op


def works(flow: FunctionFlow, op: Op) -> bool:
    """Does the operation run a forward or backward pass, itself or in the project function that it calls?"""
    if op.name in WORK:
        return True
    return op.name == "call" and _runs_model(flow, op, 3)


def _runs_model(flow: FunctionFlow, op: Op, depth: int) -> bool:
    inner = applied_flow(flow, op) if depth else None
    if inner is None:
        return False
    if any(o.name in WORK or o.name in ("?call", "iter") and _applies_parameter(inner, o) for o in inner.ops):
        return True
    return any(o.name == "call" and _runs_model(inner, o, depth - 1) for o in inner.ops)


def _applies_parameter(flow: FunctionFlow, op: Op) -> bool:
    """A call of one of the function's own parameters: a model that it was given."""
    called = op.name == "?call" and op.depth == 0 and bool(op.arguments)
    return called and op.callee in {p.name for p in flow.info.parameters}
