"""What the loops around a store run over: the batches of a loader, or pieces, models and steps that are few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.batches import written_dict
from torchmemlint.flow.debugging import written_down
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Op, closure
from torchmemlint.flow.values import Kind

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

SPLITS = frozenset({"chunk", "split", "unbind", "tensor_split"})
STEPS = frozenset({"arange", "linspace", "logspace"})


def _bounded(holder: Op) -> bool:
    """Is it a deque that drops the oldest: `deque(maxlen=100)`, `deque([], 100)`?"""
    node = holder.node
    if not isinstance(node, cst.Call) or not (dotted(node.func) or "").endswith("deque"):
        return False
    return len(node.args) > 1 or any(a.keyword is not None and a.keyword.value == "maxlen" for a in node.args)


def over_data(holder: Op | None, op: Op) -> bool:
    """Does a loop between holder and store run over a loader or an iterable, and not over a range?"""
    if holder is not None and _bounded(holder):
        return False
    around = holder.loops if holder is not None else ()
    loops = set(op.loops[len(around) :])
    given = (maker for a in op.arguments for maker in a.value.defs)  # of a call, where what it returns has none of them
    sources = closure([*op.inputs, *given], lambda o: o.inputs)
    members = [o for o in sources if o.name in ("batch", "iter") and o.value.kind is not Kind.HOST and not _piece(o)]
    return any(_gives(o, op, loops) and not _is_called(o) and not (around and _of_list(o)) for o in members)


def _gives(member: Op, op: Op, loops: set[int]) -> bool:
    """Is it what one of the loops runs over, alone or as `enumerate` and `zip` give it?"""
    if loops.intersection(member.loops[-1:]):
        return True
    paired = member.name == "iter" and not isinstance(member.node, cst.Subscript)
    depth = len(member.loops)
    return paired and member.loops == op.loops[:depth] and not loops.isdisjoint(op.loops[depth : depth + 1])


def _piece(member: Op) -> bool:
    """Pieces of one tensor: what is collected of them is joined to what one forward of the whole would give. And steps
    that a range writes out as a tensor, members of a dict that is written down."""
    names = [o.callee or "" if o.name == "?call" else o.name for o in member.inputs]
    parts = bool(names) and all(name.rpartition(".")[2] in SPLITS | STEPS for name in names)
    return parts or any(map(written_dict, member.inputs))


def _of_list(member: Op) -> bool:
    """In a loop of its own a list that the program has filled is what one batch is run with: labels, styles, scales."""
    listed = member.name == "iter" and any(maker.value.kind is Kind.CONTAINER for maker in member.inputs)
    return listed and not any(o.name == "batch" for o in closure(member.inputs, lambda o: o.inputs, 60))


def _is_called(member: Op) -> bool:
    """A loop over models runs each of them once."""
    return any(u.name == "module" and u.receiver is not None and member in u.receiver.defs for u in member.uses)


def written_out(flow: FunctionFlow, holder: Op, op: Op) -> bool:
    """Do all loops between holder and store run a small number of times that is written down?"""
    loops = [flow.frame.numbered(loop) for loop in op.loops[len(holder.loops) :]]
    return bool(loops) and all(written_down(flow, loop) for loop in loops)
