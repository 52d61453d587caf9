"""What takes members out of a list or dict again: looked for by the attribute's name over the project."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.graph import Op, Store, closure, puts
from torchmemlint.flow.values import Kind

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.index.model import FunctionInfo

CANDIDATES = 40  # functions looked through
TAKING = frozenset({"pop", "popleft", "popitem"})


def emptying_functions(flow: FunctionFlow, attribute: str) -> list[FunctionInfo] | None:
    """The functions that clear the holder, take members out of it, or bind it anew; None where too many may."""
    readers = flow.program.project.attribute_readers(attribute, flow.info.path)
    if len(readers) > CANDIDATES:
        return None
    others = [reader for reader in readers if reader.name not in ("", "__init__")]
    flows = ((r, flow if r == flow.info else flow.program.flow(r)) for r in others)
    return [r for r, other in flows if other is not None and _empties(other, attribute)]


def piles_up(flow: FunctionFlow, holder: Op, store: Store) -> bool:
    """Does each call of a method append to a list of its object, which nothing empties?"""
    owner, _, name = (holder.path or "").rpartition(".")
    if store.how != "append" or store.nested or owner != "self" or holder.value.name != "list":
        return False
    return emptying_functions(flow, name) == []


def _empties(flow: FunctionFlow, attribute: str) -> bool:
    for op in flow.named("clear", "del", "delitem", "store", "read", "?call"):
        if _pops(op, attribute):
            return True
        anew = op.name == "store" and op.value.kind in (Kind.CONTAINER, Kind.HOST) and not op.loops
        if _names(op, attribute) and (op.name in ("clear", "del", "delitem") or anew and puts(op, "assign")):
            return True
    return False


def _names(op: Op, attribute: str) -> bool:
    return (op.path or "").rpartition(".")[2] == attribute


def _pops(op: Op, attribute: str) -> bool:
    """Does a call take a member out of the holder?"""
    node = op.node
    if op.name not in ("read", "?call") or not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return False
    if node.func.attr.value not in TAKING or op.receiver is None:
        return False
    if op.name == "?call" and _names(op, attribute):
        return True
    return any(_names(maker, attribute) for maker in closure(op.receiver.defs, _operands))


def _operands(op: Op) -> Iterable[Op]:
    return [maker for maker in op.inputs if maker.name != "store"]
