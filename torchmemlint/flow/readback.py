"""What is stored and read in one function: a value that goes on through the place where it is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Store
from torchmemlint.flow.lean import walk

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow


def goes_on(flow: FunctionFlow, store: Store, path: str) -> bool:
    """Does the function itself read the place again, or does the assignment bind other names to the same value?"""
    statement = store.op.statement
    if isinstance(statement, cst.Assign) and len(statement.targets) > 1:
        return True
    if any(isinstance(node, cst.NamedExpr) and node.value is store.value_node for node in walk(flow.node)):
        return True
    if store.how != "assign":
        return False
    targets = set[int]()
    for node in walk(flow.node):
        if isinstance(node, cst.AssignTarget):
            targets.update(map(id, walk(node.target)))
        elif isinstance(node, (cst.AnnAssign, cst.AugAssign)):
            targets.add(id(node.target))
        elif isinstance(node, cst.NameItem):
            targets.add(id(node.name))
    named = (n for n in walk(flow.node) if isinstance(n, (cst.Attribute, cst.Name)) and id(n) not in targets)
    return any(bool(store.op.loops) or _behind(flow, store, node) for node in named if dotted(node) == path)


def _behind(flow: FunctionFlow, store: Store, node: cst.CSTNode) -> bool:
    """Does the node stand behind the store? One before it reads what an earlier call has left."""
    at = store.op.statement if store.op.statement is not None else store.op.node
    return flow.unit.span(node)[0] >= flow.unit.span(at)[1]
