"""From an operation to the statement that it is part of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.lean import children, walk

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

Line = cst.SimpleStatementLine


def statement(flow: FunctionFlow, node: cst.CSTNode) -> Line | None:
    """The line of small statements that `node` is part of; None for a condition or a header."""
    return next((line for line in lines(flow) if node in walk(line)), None)


def lines(flow: FunctionFlow) -> Iterator[Line]:
    """All lines of small statements of the function, in source order."""
    yield from _lines(flow.node)


def block(flow: FunctionFlow, line: Line) -> tuple[cst.CSTNode, ...]:
    """The statements of the block that `line` stands in."""
    return next((tuple(body) for body in _blocks(flow.node) if any(s is line for s in body)), ())


def _lines(node: cst.CSTNode) -> Iterator[Line]:
    for child in children(node):
        if isinstance(child, Line):
            yield child
        else:
            yield from _lines(child)


def _blocks(node: cst.CSTNode) -> Iterator[list[cst.CSTNode]]:
    body = getattr(node, "body", None)
    if isinstance(node, (cst.Module, cst.IndentedBlock)) and body is not None:
        yield list(body)
    for child in children(node):
        if not isinstance(child, Line):
            yield from _blocks(child)


def around(flow: FunctionFlow, node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes from the function's own down to `node`; empty where it is of another function."""
    path = [node]
    while path[-1] is not flow.node:
        parent = flow.parents.get(path[-1])
        if parent is None:
            return []
        path.append(parent)
    return path[::-1]


def loop_around(flow: FunctionFlow, node: cst.CSTNode) -> cst.For | cst.While | None:
    """The innermost loop statement whose body holds `node`."""
    return next((loop for loop in _loops(flow.node) if node in walk(loop.body)), None)


def _loops(node: cst.CSTNode) -> Iterator[cst.For | cst.While]:
    """Loop statements, inner ones first."""
    for child in children(node):
        if not isinstance(child, Line):
            yield from _loops(child)
    if isinstance(node, (cst.For, cst.While)):
        yield node


def bound_in(node: cst.CSTNode) -> set[str]:
    """The names that a piece of code binds: assignments, loop targets, `as` names."""
    found: set[str] = set()
    if isinstance(node, (cst.AssignTarget, cst.For, cst.AugAssign, cst.NamedExpr, cst.AnnAssign, cst.CompFor)):
        found.update(_targets(node.target))
    elif isinstance(node, cst.AsName):
        found.update(_targets(node.name))
    for child in children(node):
        found |= bound_in(child)
    return found


def _targets(node: cst.CSTNode) -> Iterator[str]:
    if isinstance(node, cst.Name):
        yield node.value
    elif isinstance(node, (cst.Tuple, cst.List, cst.Element, cst.StarredElement)):
        for child in children(node):
            yield from _targets(child)
