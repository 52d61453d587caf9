"""Values that are computed from their own former value: through a module, as an average, or otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import libcst as cst

from torchmemlint.flow.graph import Op, Store, closure
from torchmemlint.flow.values import Fact, Kind

WEIGHING = frozenset({"torch.mul", "torch.mul_", "torch.div", "torch.div_", "torch.lerp", "torch.lerp_"})
FORWARD = frozenset({"module", "custom"})
OBJECTS = frozenset({Kind.MODULE, Kind.OPTIMIZER, Kind.SCALER, Kind.HOST, Kind.FUNCTION, Kind.CLASS, Kind.LOADER})


class Course(Enum):
    """How a value comes to depend on its former self."""

    MODULE = "through a forward pass"
    AVERAGE = "as a weighted average"
    OTHER = "otherwise"


def back(op: Op) -> Sequence[Op]:
    """The operands whose graph goes on into an operation's result."""
    return op.inputs if op.passes else []


def round_trip(holder: Op, store: Store) -> frozenset[Op]:
    """The operations on a way from what a holder held to what is stored into it; empty where there is no way."""
    behind = set(closure(store.value.defs, back))
    if holder not in behind:
        return frozenset()
    ahead = set(closure([holder], lambda op: op.uses if op.passes or op is holder else []))
    return frozenset(o for o in behind & ahead if o is not holder and o.name not in ("store", "bind"))


def loop_trip(op: Op) -> frozenset[Op]:
    """The operations on a way from an operation's result, through the loop, back to its operands."""
    behind = set(closure(op.inputs, back)) if op.passes else set()
    if op not in behind:
        return frozenset({op}) if op.carried else frozenset()
    ahead = set(closure(op.uses, lambda o: o.uses if o.passes else []))
    return frozenset((behind & ahead) | {op})


def course(trip: frozenset[Op]) -> Course:
    """What sort of recurrence these operations make up."""
    if any(op.name in FORWARD or op.name == "call" and _gives_tensor(op) for op in trip):
        return Course.MODULE
    return Course.AVERAGE if any(map(weighs, trip)) else Course.OTHER


def _gives_tensor(op: Op) -> bool:
    return op.value.kind not in OBJECTS and bool(op.value.graph)


def weighs(op: Op) -> bool:
    """Does the operation multiply or divide?"""
    if op.name in WEIGHING:
        return True
    node = op.node
    if op.name != "arith":
        return False
    if isinstance(node, cst.BinaryOperation):
        return isinstance(node.operator, (cst.Multiply, cst.Divide))
    return isinstance(node, cst.AugAssign) and isinstance(node.operator, (cst.MultiplyAssign, cst.DivideAssign))


def carries(holder: Op, store: Store) -> bool:
    """Is the store a state or an average of its own former value, rather than a collection or a sum?"""
    if store.how not in ("assign", "setitem", "accumulate") or holder.name != "load" or store.value.kind in OBJECTS:
        return False
    trip = round_trip(holder, store)
    kind = course(trip)
    if kind is Course.AVERAGE:  # a running mean of numbers, which starts from one, is an accumulator
        return holder.value.kind is not Kind.HOST and store.value.scalar is not Fact.YES
    return kind is Course.MODULE and store.how != "accumulate"


def cuts(load: Op, store: Store) -> bool:
    """Does a store put back, cut off from its graph, what was loaded?"""
    behind = set(closure(store.value.defs, lambda op: op.inputs))
    return load in behind and not carries(load, store) and store.how in ("assign", "setitem")
