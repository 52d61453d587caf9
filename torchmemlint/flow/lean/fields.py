"""The fields of libcst's nodes that carry meaning: what lean trees have, what is compared, what is walked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

import libcst as cst

# The first letters of fields for blanks, brackets, separators and the like.
SPELLING = (
    "whitespace",
    "leading_",
    "trailing_",
    "lines_after",
    "empty_lines",
    "lpar",
    "rpar",
    "lbracket",
    "rbracket",
    "lbrace",
    "rbrace",
    "comma",
    "colon",
    "semicolon",
    "first_colon",
    "second_colon",
    "equal",
    "dot",
    "posonly_ind",
    "separator",
    "header",
    "footer",
    "indent",
    "encoding",
    "default_",
    "has_trailing",
    "start",
    "end",
    "conversion",
)
SHARED: tuple[type, ...] = (
    cst.BaseBinaryOp,
    cst.BaseBooleanOp,
    cst.BaseUnaryOp,
    cst.BaseCompOp,
    cst.BaseAugOp,
    cst.Asynchronous,
    cst.ParamStar,
    cst.Dot,
)
"""Nodes of which lean trees hold one for all places: they say what, never where."""


@cache
def fields(kind: type) -> tuple[str, ...]:
    """The meaningful fields of a node type, in the order of its definition."""
    if issubclass(kind, SHARED):
        return ()
    names = [field.name for field in dataclasses.fields(cast("Any", kind))]
    return tuple(name for name in names if not name.startswith(SPELLING))


class _Below(dict[type, bool]):
    """Which types are below some. (libcst's are abstract base classes: `isinstance` would ask in Python each time.)"""

    def __init__(self, *bases: type) -> None:
        super().__init__()
        self.bases = bases

    def __missing__(self, kind: type) -> bool:
        self[kind] = found = issubclass(kind, self.bases)
        return found


NODES = _Below(cst.CSTNode)
WITHOUT_PLACE = _Below(*SHARED)


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes directly under a node, those of spelling left out; for lean trees and libcst's own alike."""
    for name in fields(type(node)):
        value = getattr(node, name)
        kind = type(value)
        if kind is tuple or kind is list:
            yield from value
        elif NODES[kind]:
            yield value


def walk(root: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all nodes under it."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(children(node))


def same_code(first: cst.CSTNode, second: cst.CSTNode) -> bool:
    """Are two pieces of code the same but for their spelling?"""
    if type(first) is not type(second):
        return False
    return all(_equal(getattr(first, name), getattr(second, name)) for name in fields(type(first)))


def _equal(first: object, second: object) -> bool:
    if isinstance(first, cst.CSTNode) and isinstance(second, cst.CSTNode):
        return same_code(first, second)
    if isinstance(first, (tuple, list)) and isinstance(second, (tuple, list)):
        return len(first) == len(second) and all(map(_equal, first, second))
    return first == second
