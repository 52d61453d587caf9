"""Results that surely carry no graph, whatever their making suggests: PyTorch refuses what is done to them else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchmemlint.flow.graph import Op, downstream

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

DEPTH = 1  # calls down


def turned_into_numpy(flow: FunctionFlow, op: Op, depth: int = DEPTH) -> bool:
    """Is `.numpy()` called on the result without a detach, here or in a function of the project that is given it? It
    raises on a tensor that requires grad: the frozen network or the grad mode is only out of sight."""
    reached = set(downstream(op))
    if any(o.name == "torch.numpy" for o in reached):
        return True
    if not depth:
        return False
    given = [c for c in flow.named("call") if any(not reached.isdisjoint(a.value.defs) for a in c.arguments)]
    return any(_in_callee(flow, call, reached, depth - 1) for call in given)


def _in_callee(flow: FunctionFlow, call: Op, carried: set[Op], depth: int) -> bool:
    info = flow.program.called(call)
    inner = flow.program.flow(info) if info is not None and "numpy" in info.words else None
    if info is None or inner is None:
        return False
    bound = flow.program.callers.bound(info, call)
    return any(
        argument is not None and not carried.isdisjoint(argument.value.defs) and turned_into_numpy(inner, param, depth)
        for argument, param in zip(bound, inner.parameters)
    )
