"""Does what a loop collects meet tensors of the device afterwards?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchmemlint.flow.collecting import OVER, readers_of
from torchmemlint.flow.graph import Op, Sink, closure
from torchmemlint.flow.values import Fact, Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow


def mixed(flow: FunctionFlow, holder: Op) -> bool:
    """Is something that may live on the device computed with what is read from the holder? What is put into it can't be
    moved to the CPU then."""
    return _mixed(flow, readers_of(holder), 3)


def _mixed(flow: FunctionFlow, readers: Iterable[Op], depth: int) -> bool:
    reached = set(closure(readers, lambda o: () if _on_host(o.value) or o.sunk & OVER else o.uses))
    if any(o.name in ("module", "?call", "call", "construct") and not o.sunk & OVER for o in reached):
        return True
    if any(_device_operand(o, reached) for o in reached):
        return True
    if all(Sink.RETURNED not in o.sunk for o in reached):
        return False
    sites = flow.program.callers.sites(flow.info)
    return not depth or not sites.complete or any(_mixed(s.flow, s.op.uses, depth - 1) for s in sites.calls)


def _on_host(value: Value) -> bool:
    return value.kind is Kind.HOST or value.device == "cpu"


def _device_operand(op: Op, reached: set[Op]) -> bool:
    """Does the operation take a tensor that does not come from `reached` and is not known to be on the CPU?"""
    if op.name in ("bind", "del", "store", "return", "iter", "host") or op.name.startswith("literal"):
        return False
    given = [op.receiver, *(a.value for a in op.arguments)]
    return any(
        value is not None
        and value.kind in (Kind.TENSOR, Kind.UNKNOWN)
        and not _on_host(value)
        and value.scalar is not Fact.YES
        and reached.isdisjoint(value.defs)
        and bool(value.defs)
        for value in given
    )
