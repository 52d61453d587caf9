"""Functions that return the result of a forward, with its graph, to callers that only cut it off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmemlint.flow.endings import OVER, dropped
from torchmemlint.flow.graph import Op, Sink, fact, sinks
from torchmemlint.flow.handed import runs_with_grad
from torchmemlint.flow.lifetimes import applied_flow
from torchmemlint.flow.optimizers import is_criterion
from torchmemlint.flow.values import Fact

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow


def unwalked_calls(flow: FunctionFlow) -> Iterator[tuple[Op, list[Op], Op]]:
    """Calls in a training function whose result brings the graph of a forward along that the called function runs, and
    is only cut off here: each with the cuts and that forward."""
    if not flow.runs_backward:
        return
    for call in flow.named("call"):
        if (id(call.node), "module") in flow.frame.table or call.depth or not runs_with_grad(flow, call):
            continue
        ends = dropped(flow, call)
        forward = _returned_forward(flow, call) if ends else None
        if forward is not None:
            yield call, ends, forward


def borrowed(flow: FunctionFlow, call: Op) -> bool:
    """Does a function that trains nothing call one that runs a forward for a training step elsewhere, and only cut off
    what it returns?"""
    if flow.runs_backward or call.depth or fact(call.value) is not Fact.YES or not dropped(flow, call):
        return False
    if (id(call.node), "module") in flow.frame.table or _returned_forward(flow, call) is None:
        return False
    inner = applied_flow(flow, call)
    return inner is not None and Sink.BACKWARD in flow.program.callers.returned(inner)


def _returned_forward(flow: FunctionFlow, call: Op) -> Op | None:
    """The first forward of a called function whose graph goes nowhere but into its result."""
    inner = applied_flow(flow, call)
    if inner is None or inner.runs_backward or any(kept.graph is not Fact.NO for kept in inner.summary.kept):
        return None
    for op in inner.named("module"):
        trainable = op.receiver is not None and op.receiver.trainable is Fact.YES and not is_criterion(op)
        if trainable and fact(op.value) is Fact.YES and sinks(op) - OVER == {Sink.RETURNED}:
            return op
    return None
