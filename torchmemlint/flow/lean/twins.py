"""From the nodes of a lean tree to those that libcst parsed of the same text, which know their places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from torchmemlint.flow.lean.fields import NODES, WITHOUT_PLACE, fields


class Mismatch(Exception):
    """The two trees differ: an error of this package."""


def twins(lean: cst.Module, concrete: cst.Module) -> dict[cst.CSTNode, cst.CSTNode]:
    """The concrete node for each lean one, but for those that stand for many places and for the words of f-strings.
    Raises Mismatch."""
    found: dict[cst.CSTNode, cst.CSTNode] = {}
    todo: list[tuple[Any, Any]] = [(lean, concrete)]
    while todo:
        first, second = todo.pop()
        if type(first) is cst.FormattedString:
            pairs = _zipped(first, list(_expressions(first)), list(_expressions(second)))
        elif type(first) is cst.SimpleString and type(second) is cst.ConcatenatedString:
            pairs = []  # inside an f-string older Pythons don't tell one literal from several
        elif type(first) is not type(second):
            raise Mismatch(f"{type(first).__name__} against {type(second).__name__}")
        elif WITHOUT_PLACE[type(first)]:
            continue
        else:
            pairs = list(_parts(first, second))
        found[first] = second
        todo.extend(pairs)
    return found


def _parts(first: cst.CSTNode, second: cst.CSTNode) -> Iterator[tuple[Any, Any]]:
    for name in fields(type(first)):
        one, other = getattr(first, name), getattr(second, name)
        if name == "format_spec":
            one, other = _expressions_in(one or ()), _expressions_in(other or ())
        if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
            yield from _zipped(first, one, other)
        elif NODES[type(one)] or NODES[type(other)]:
            yield one, other


def _zipped(node: cst.CSTNode, one: Any, other: Any) -> list[tuple[Any, Any]]:
    if len(one) != len(other):
        raise Mismatch(f"{len(one)} against {len(other)} parts of {type(node).__name__}")
    return list(zip(one, other))


def _expressions(node: cst.CSTNode) -> Iterator[cst.FormattedStringExpression]:
    """Those of an f-string and of what adjoins it."""
    if type(node) is cst.ConcatenatedString:
        yield from _expressions(node.left)
        yield from _expressions(node.right)
    elif type(node) is cst.FormattedString:
        yield from _expressions_in(node.parts)
    elif type(node) is not cst.SimpleString:
        raise Mismatch(f"an f-string against {type(node).__name__}")


def _expressions_in(parts: Any) -> list[cst.FormattedStringExpression]:
    return [part for part in parts if type(part) is cst.FormattedStringExpression]
