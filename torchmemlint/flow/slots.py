"""Attached values that are written into slots of a tensor, which from then on carries the graph of each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.events import HolderClosed
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Op, Sink, Store, fact
from torchmemlint.flow.handed import runs_with_grad
from torchmemlint.flow.values import Fact, Kind, may_carry_graph

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

HANDED_OUT = frozenset({Sink.RETURNED, Sink.YIELDED, Sink.UNKNOWN_CALL, Sink.ATTRIBUTE, Sink.GLOBAL})
DEFINING = frozenset({"__init__", "forward"})


def written(flow: FunctionFlow, op: Op) -> Iterator[HolderClosed]:
    """`values[t] = model(x)`: the event of a tensor that is older than the iteration, or lies on an object."""
    given = op.arguments[0] if op.arguments else None
    if given is None or given.node is None or fact(given.value) is not Fact.YES or flow.info.name in DEFINING:
        return
    name = dotted(op.node.value) if isinstance(op.node, cst.Subscript) else None
    holder = _made(flow, name) if name is not None else None
    if name is None or holder is None or fact(holder.value) is Fact.YES or not may_carry_graph(holder.value):
        return
    on_object = holder.name == "load" and "." in name
    if not on_object and (len(op.loops) <= len(holder.loops) or op.loops[: len(holder.loops)] != holder.loops):
        return
    if _in_module(flow) or _renewed(flow, op, name) or not any(runs_with_grad(flow, made) for made in given.value.defs):
        return
    ends = flow.program.callers.sinks(flow, op)
    if on_object:
        ends |= flow.program.callers.attribute_sinks(flow.info.path, name.rpartition(".")[2])
        ends -= {Sink.ATTRIBUTE, Sink.GLOBAL}
    elif ends & HANDED_OUT:
        return  # who gets it may train with it
    store = Store(op, given.value, given.node, "slot")
    yield HolderClosed(flow, holder, name, "attribute" if on_object else "container", [store], ends)


def _made(flow: FunctionFlow, name: str) -> Op | None:
    """What first gave the name its tensor: a factory bound to it, the attribute itself; None where it was handed in."""
    if "." in name:
        return next((o for o in flow.named("load") if o.path == name), None)
    bound = next((o for o in flow.named("bind") if o.path == name), None)
    made = [o for o in bound.inputs if o.name.startswith("torch.")] if bound is not None else []
    return made[0] if bound is not None and made == list(bound.inputs) and len(made) == 1 else None


def _in_module(flow: FunctionFlow) -> bool:
    """Is it a module's own method? A cache of keys and values is written so, and run without grad."""
    owner = flow.program.project.owner(flow.info)
    return owner is not None and flow.program.project.is_module_class(owner) is not Fact.NO


def _renewed(flow: FunctionFlow, op: Op, name: str) -> bool:
    """Is the tensor made anew, or detached in place, in each iteration that writes?"""
    anew = (o for o in flow.named("bind", "store") if o.path == name and len(o.loops) >= len(op.loops))
    if any(o.value.kind in (Kind.TENSOR, Kind.HOST) and fact(o.value) is Fact.NO for o in anew):
        return True
    return any(o.receiver_node is not None and dotted(o.receiver_node) == name for o in flow.named("torch.detach_"))
