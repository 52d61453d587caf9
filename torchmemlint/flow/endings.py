"""How the graph of a forward ends inside a training function: walked by a backward, or dropped unused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchmemlint.flow.graph import Mode, Op, Sink, closure, downstream, fact
from torchmemlint.flow.values import Fact, Kind

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

FORWARDS = ("module", "call")
OVER = frozenset({Sink.HOST, Sink.LIBRARY})  # no backward comes from there
CUTS = frozenset({"torch.detach", "torch.detach_", "torch.data", "torch.item", "torch.tolist", "torch.numpy", "host"})


def trains(flow: FunctionFlow, op: Op) -> bool:
    """Does the function run a backward, or return a loss that another forward than `op` contributes to?"""
    if flow.runs_backward:
        return True
    return any(
        other is not op and fact(other.value) is Fact.YES and Sink.BACKWARD in flow.program.callers.sinks(flow, other)
        for other in flow.named("module")
    )


def dropped(flow: FunctionFlow, op: Op) -> list[Op]:
    """Where the graph of a forward's result is cut off, if it is cut off on every way; empty if a backward, a caller, a
    holder or code out of sight may need it, or if nothing reads the result."""
    if op.mode is Mode.OFF or fact(op.value) is not Fact.YES or flow.program.callers.sinks(flow, op) - OVER:
        return []
    reached = list(downstream(op))
    if any(other.stores for other in reached if other is not op and other.name == "load"):
        return []
    return [other for other in reached if other is not op and cuts(other)]


def cuts(op: Op) -> bool:
    """Does the graph of the operand end here?"""
    if op.name == "argument":
        return not op.uses and not op.sunk - OVER  # the callee cuts it off
    return op.name in CUTS or bool(op.sunk & OVER) or (op.value.kind is Kind.TENSOR and op.value.graph is Fact.NO)


def at_once(op: Op) -> bool:
    """Is the result cut off in the expression that makes it? Then its graph lives no longer than the forward."""
    return bool(op.uses) and all(cuts(user) for user in op.uses)


def single_row(op: Op) -> bool:
    """Is the input made of host data at hand, as one observation of an environment is, not a batch of a loader?"""
    makers = list(closure(op.inputs, lambda o: o.inputs))
    return not any(o.name in ("batch", "iter", "param") for o in makers) and any(
        o.callee in ("torch.Tensor", "torch.tensor", "torch.from_numpy", "torch.as_tensor") for o in makers
    )


__all__ = ["FORWARDS", "at_once", "cuts", "dropped", "single_row", "trains"]
