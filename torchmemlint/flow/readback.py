"""What is stored and read in one function: a value that goes on through the place where it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Op, Sink, Store, closure, sinks
from torchmemlint.flow.lean import walk

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

WITHOUT_GRAPH = frozenset({"detach", "item", "data", "shape", "size", "device", "dtype"})
OPENED = frozenset({"iter", "item", "bind", "comprehension"})
"""What gives the members of a tuple."""


def goes_on(flow: FunctionFlow, store: Store, path: str) -> bool:
    """Does the function itself need the graph of what it stores: because it reads the place again, or because the
    assignment binds other names to the same value?"""
    statement = store.op.statement
    if isinstance(statement, cst.Assign) and len(statement.targets) > 1:
        return True
    if any(isinstance(node, cst.NamedExpr) and node.value is store.value_node for node in walk(flow.node)):
        return True
    cut = {id(n.value) for n in walk(flow.node) if isinstance(n, cst.Attribute) and n.attr.value in WITHOUT_GRAPH}
    return any(id(node) not in cut for node in _reads(flow, store, path))


def walked_by_name(flow: FunctionFlow) -> bool:
    """Does a method of the class or of a base run a backward on attributes that it reads by computed names? Which of
    them hold the losses nobody can tell, nor what these were computed from."""
    project = flow.program.project
    owner = project.owner(flow.info)
    line = {c.id for c in project.mro(owner)} if owner is not None else set()
    readers = project.mentions("getattr", flow.info.path) if line else []
    methods = [reader for reader in readers if (c := project.owner(reader)) is not None and c.id in line]
    return any(inner is not None and _walks_computed(inner) for inner in map(flow.program.flow, methods))


def _walks_computed(flow: FunctionFlow) -> bool:
    computed = [op for op in flow.named("load") if op.path is None and isinstance(op.node, cst.Call)]
    return any(Sink.BACKWARD in sinks(op) for op in computed if not {*flow.parameters[:1]}.isdisjoint(op.inputs))


def taken_up_detached(flow: FunctionFlow, store: Store) -> bool:
    """Is it a state that the function goes on with at its next call, and then detaches before anything else?"""
    reads = [op for op in flow.named("load") if op.path == store.op.path and op.order < store.op.order and op.uses]
    behind = set(closure(store.value.defs, lambda o: o.inputs))
    return any(op in behind for op in reads) and all(_cut(op) for op in reads)


def _cut(read: Op) -> bool:
    """Does what is read only pass a look at it, or lose its graph at once?"""
    reached = closure([read], lambda o: o.uses if o is read or o.name in OPENED else ())
    return all(op is read or op.name in OPENED | {"torch.detach", "torch.data", "compare", "host"} for op in reached)


def read_here(flow: FunctionFlow, store: Store, path: str) -> bool:
    """Does the function itself read the place again, with the graph (`self.fake`) or without (`self.fake.detach()`)?"""
    return any(True for _ in _reads(flow, store, path))


def _reads(flow: FunctionFlow, store: Store, path: str) -> Iterator[cst.CSTNode]:
    if store.how != "assign":
        return
    targets = set[int]()
    for node in walk(flow.node):
        if isinstance(node, cst.AssignTarget):
            targets.update(map(id, walk(node.target)))
        elif isinstance(node, (cst.AnnAssign, cst.AugAssign)):
            targets.add(id(node.target))
        elif isinstance(node, cst.NameItem):
            targets.add(id(node.name))
    named = (n for n in walk(flow.node) if isinstance(n, (cst.Attribute, cst.Name)) and id(n) not in targets)
    yield from (n for n in named if dotted(n) == path and (bool(store.op.loops) or _behind(flow, store, n)))


def _behind(flow: FunctionFlow, store: Store, node: cst.CSTNode) -> bool:
    """Does the node stand behind the store? One before it reads what an earlier call has left."""
    at = store.op.statement if store.op.statement is not None else store.op.node
    return flow.unit.span(node)[0] >= flow.unit.span(at)[1]
