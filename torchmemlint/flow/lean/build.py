"""Making libcst nodes with their meaningful fields only, and the table from `ast` node types to their converters.

libcst's own constructors validate and fill in all that spells a node; here the slots that carry meaning are set
directly, which is what makes lean trees cheap."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from torchmemlint.flow.lean.fields import fields


class Unconvertible(Exception):
    """Code whose libcst tree can't be told from its `ast`; libcst itself then parses it."""


@dataclass
class Text:
    """The text that an `ast` was made of."""

    lines: list[bytes]
    blind: bool = False  # inside an f-string of a Python that can't tell where its parts are
    quoted: dict[cst.CSTNode, bytes] = field(default_factory=dict)
    """The text of the nodes that are asked for it even where nothing is found: annotations, except blocks."""

    def between(self, start: tuple[int, int], end: tuple[int, int]) -> bytes:
        """The text from one (line, column) to another, line ends as line feeds."""
        (first, left), (last, right) = start, end
        if first == last:
            return self.lines[first - 1][left:right]
        inner = self.lines[first : last - 1]
        return b"\n".join([self.lines[first - 1][left:], *inner, self.lines[last - 1][:right]])

    def of(self, node: Any) -> bytes:
        """The text of an `ast` node with a position."""
        return self.between(begin(node), finish(node))


def begin(node: Any) -> tuple[int, int]:
    """Line and column, in bytes, where an `ast` node starts."""
    return node.lineno, node.col_offset


def finish(node: Any) -> tuple[int, int]:
    """Line and column, in bytes, behind an `ast` node."""
    return node.end_lineno, node.end_col_offset


Converter = Callable[[Text, Any], Any]


class Table(dict[type, Converter]):
    """Converters by `ast` node type."""

    def __missing__(self, kind: type) -> Converter:
        raise Unconvertible(kind.__name__)


CONVERTERS = Table()


def convert(text: Text, node: ast.AST) -> Any:
    """The lean node for an `ast` node. Raises Unconvertible."""
    return CONVERTERS[type(node)](text, node)


def optional(text: Text, node: ast.AST | None) -> Any:
    """The same, None for None."""
    return None if node is None else CONVERTERS[type(node)](text, node)


def maker(kind: type, *names: str) -> Callable[..., Any]:
    """A function that makes nodes of this type from the values of its meaningful fields, which are named in order."""
    if fields(kind) != names:
        raise TypeError(f"{kind.__name__} has the fields {fields(kind)}")
    setters = [getattr(kind, name).__set__ for name in names]
    by_number: list[Callable[..., Callable[..., Any]]] = [_bare, _one, _two, _three]
    return by_number[len(setters)](kind, *setters) if len(setters) < len(by_number) else _many(kind, *setters)


_new = object.__new__


def _bare(kind: type) -> Callable[..., Any]:
    return lambda: _new(kind)


def _one(kind: type, first: Any) -> Callable[..., Any]:
    def make(value: Any) -> Any:
        node: Any = _new(kind)
        first(node, value)
        return node

    return make


def _two(kind: type, first: Any, second: Any) -> Callable[..., Any]:
    def make(value: Any, other: Any) -> Any:
        node: Any = _new(kind)
        first(node, value)
        second(node, other)
        return node

    return make


def _three(kind: type, first: Any, second: Any, third: Any) -> Callable[..., Any]:
    def make(value: Any, other: Any, last: Any) -> Any:
        node: Any = _new(kind)
        first(node, value)
        second(node, other)
        third(node, last)
        return node

    return make


def _many(kind: type, *setters: Any) -> Callable[..., Any]:
    def make(*values: Any) -> Any:
        node: Any = _new(kind)
        for put, value in zip(setters, values):
            put(node, value)
        return node

    return make


name = maker(cst.Name, "value")
attribute = maker(cst.Attribute, "value", "attr")
element = maker(cst.Element, "value")
starred = maker(cst.StarredElement, "value")
argument = maker(cst.Arg, "value", "keyword", "star")
annotation = maker(cst.Annotation, "annotation")
origin = maker(cst.From, "item")
