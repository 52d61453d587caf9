"""Slices of a file that are parsed on their own: one function with all that is nested in it, or the module's top level
without its functions. Offsets in the file follow by a piecewise constant shift."""

from __future__ import annotations

import ast
import bisect
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, CodeSpan, MetadataWrapper

from torchmemlint.findings import Location
from torchmemlint.flow import lean
from torchmemlint.index.marks import ATTRIBUTE, CATCHES, COLLECTS, GATHERS, KEEPS, LOOPS, NEW_AXIS, SLICES, TOTAL
from torchmemlint.index.model import FileIndex, FunctionInfo
from torchmemlint.index.slices import function_bounds, module_slice
from torchmemlint.source import Source, renamed


def dotted(node: cst.CSTNode) -> str | None:
    """`a.b.c` as text for a chain of names, else None."""
    kind = type(node)
    if kind is cst.Name:
        return node.value  # type: ignore[attr-defined,no-any-return]
    if kind is not cst.Attribute:
        return None
    path = dotted(node.value)  # type: ignore[attr-defined]
    return None if path is None else f"{path}.{node.attr.value}"  # type: ignore[attr-defined]


def own_parameters(params: cst.Parameters) -> tuple[cst.Param, ...]:
    """The parameters that have a place or a name of their own, in order: all but `*args` and `**kwargs`."""
    return (*params.posonly_params, *params.params, *params.kwonly_params)


class _Unvisited(MetadataWrapper):
    """A module whose spans are asked for: libcst would walk it with no visitor, too, as long as it takes to find
    them."""

    def visit_batched(self, visitors: Iterable[cst.BatchableCSTVisitor], *_: Any, **__: Any) -> cst.CSTNode:
        visitors = list(visitors)
        return super().visit_batched(visitors) if visitors else self.module


PREFIX = b"if 1:\n"
KEPT = 2000  # parsed slices kept in memory
AHEAD = 2000  # of those that were made ahead, and not asked for yet
TELLING = frozenset({ATTRIBUTE, CATCHES, COLLECTS, GATHERS, KEEPS, LOOPS, NEW_AXIS, SLICES, TOTAL})
"""Marks of functions that rules look at, whatever else is in them."""


@dataclass(eq=False)
class Slice:
    """A text that is parsed on its own; it knows nothing of where it stands.

    The analysis works on `tree`; what libcst itself parses, `concrete`, is made when a place or text is asked for. The
    questions about nodes take those of either tree. Raises libcst.ParserSyntaxError for what is no Python."""

    data: bytes = field(repr=False)
    _lean: lean.Lean | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._lean = self._lean or lean.parse(self.data) or lean.parse(self._older)
        if self._lean is None:
            self.concrete  # noqa: B018 (raises here)

    @property
    def _older(self) -> bytes:
        return renamed(self.data.decode("utf-8")).encode("utf-8")

    @property
    def tree(self) -> cst.Module:
        """The lean tree; the concrete one of code that has no lean tree."""
        return self._lean.tree if self._lean is not None else self.concrete

    @cached_property
    def concrete(self) -> cst.Module:
        """The tree as libcst parses it, with all that spells the code. Raises libcst.ParserSyntaxError."""
        try:
            return cst.parse_module(self.data.decode("utf-8"))
        except cst.ParserSyntaxError:
            return cst.parse_module(self._older.decode("utf-8"))

    @cached_property
    def _twins(self) -> dict[cst.CSTNode, cst.CSTNode]:
        return lean.twins(self._lean.tree, self.concrete) if self._lean is not None else {}

    def twin(self, node: cst.CSTNode) -> cst.CSTNode:
        """The concrete node that a lean one stands for; other nodes as they are."""
        return self._twins.get(node, node)

    @cached_property
    def faithful(self) -> bool:
        """Does the concrete tree give its text back? libcst drops form feeds before code; spans behind one are off."""
        return len(self.concrete.code.encode("utf-8")) == len(self.data)

    @cached_property
    def _spans(self) -> dict[cst.CSTNode, CodeSpan]:
        wrapper = _Unvisited(self.concrete, unsafe_skip_copy=True)
        return cast("dict[cst.CSTNode, CodeSpan]", dict(wrapper.resolve(ByteSpanPositionProvider)))

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Byte offsets [start, end) of a node in the text; without the parentheses around an expression."""
        span = self._spans[self.twin(node)]
        return span.start, span.start + span.length

    def code(self, node: cst.CSTNode) -> str:
        """The text of an annotation, an except block or what it catches, for which no place has to be known."""
        known = self._lean.code(node) if self._lean is not None else None
        return known if known is not None else self.concrete.code_for_node(self.twin(node))


class Slices:
    """The parsed slices of a project's functions. Given to the program of a later text, which parses what is new."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], Slice] = OrderedDict()
        self._ahead: dict[tuple[str, str], Slice] = {}

    def make_ahead(self, source: Source, functions: Iterable[tuple[FunctionInfo, ast.stmt]]) -> None:
        """Make the slices of those functions of a file that are surely asked for, while the index has the file's syntax
        tree: they need not be parsed again. As long as there is room."""
        wanted = [(info, node) for info, node in functions if _is_surely_asked(info)]
        lines = lean.rows(source.data) if wanted and len(self._ahead) < AHEAD else None
        if lines is None:
            return
        for info, node in wanted:
            made = lean.converted(lines, [node], indented=info.column > 0)
            if made is not None:
                self._ahead[info.path, info.id] = Slice(function_text(source, info)[0], made)

    def parse(self, function: FunctionInfo, data: bytes) -> Slice:
        """The slice of a function or module body whose text is `data`. Raises libcst.ParserSyntaxError."""
        key = (function.path, function.id)
        known = self._kept.pop(key, None)
        if known is None or known.data != data:
            known = self.made_ahead(function, data) or Slice(data)
        self._kept[key] = found = known
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return found

    def made_ahead(self, function: FunctionInfo, data: bytes) -> Slice | None:
        """The slice that was made ahead, once; None where there is none, or of another text."""
        known = self._ahead.pop((function.path, function.id), None)
        return known if known is not None and known.data == data else None


@dataclass(eq=False)
class Unit:
    """One slice of a file. `function` is the FunctionInfo it holds (the module body's for the top level). What is known
    of a function keeps its unit; the text of the whole file is read again if it is needed after all."""

    texts: Callable[[str], Source] = field(repr=False)
    index: FileIndex = field(repr=False)
    function: FunctionInfo
    slice: Slice = field(repr=False)
    pieces: tuple[tuple[int, int], ...]  # (offset in the slice, file offset - that) where the difference changes

    @property
    def source(self) -> Source:
        """The text of the file. Raises SourceError."""
        return self.texts(self.function.path)

    @property
    def tree(self) -> cst.Module:
        """What the analysis works on."""
        return self.slice.tree

    @property
    def concrete(self) -> cst.Module:
        """The tree as libcst parses it. Raises libcst.ParserSyntaxError."""
        return self.slice.concrete

    def twin(self, node: cst.CSTNode) -> cst.CSTNode:
        """The concrete node that a lean one stands for; other nodes as they are."""
        return self.slice.twin(node)

    @property
    def shift(self) -> int:
        """Offset in the file minus offset in the slice, at the slice's start."""
        return self.pieces[0][1]

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Byte offsets [start, end) of a node in `source.data`; without the parentheses around an expression."""
        start, end = self.slice.span(node)
        return self._in_file(start), self._in_file(end)

    def _in_file(self, offset: int) -> int:
        at = bisect.bisect_right(self.pieces, (offset, sys.maxsize)) - 1
        return offset + self.pieces[max(at, 0)][1]

    def locations(self, node: cst.CSTNode) -> tuple[Location, Location]:
        """Where the node starts and ends, as rows and columns of the file."""
        start, end = self.span(node)
        source = self.source
        return source.location(start), source.location(end)

    def text(self, node: cst.CSTNode) -> str:
        """The node's own source text."""
        path = dotted(node)
        if path is not None:
            return path  # the most frequent case, for which no place has to be known
        if len(self.pieces) == 1:  # a function's slice is a piece of the text
            start, end = self.slice.span(node)
            return self.slice.data[start:end].decode("utf-8")
        start, end = self.span(node)
        return self.source.data[start:end].decode("utf-8")

    def code(self, node: cst.CSTNode) -> str:
        """The text of an annotation, an except block or what it catches, for which no place has to be known."""
        return self.slice.code(node)


def function_text(source: Source, info: FunctionInfo) -> tuple[bytes, int]:
    """What is parsed of a function, and where that starts in the file."""
    start, end = function_bounds(source, info)
    text = source.data[start:end]
    return (PREFIX + text, start - len(PREFIX)) if info.column > 0 else (text, start)


def _is_surely_asked(info: FunctionInfo) -> bool:
    """Do most functions like this one get interpreted? (Of those of timm five in six, which are four fifths of all that
    are.)"""
    return info.name == "__init__" or not info.marks.isdisjoint(TELLING)


def function_unit(texts: Callable[[str], Source], index: FileIndex, info: FunctionInfo, slices: Slices) -> Unit:
    """Parse one function from its first decorator to its end. Raises libcst.ParserSyntaxError, SourceError."""
    text, shift = function_text(texts(info.path), info)
    return Unit(texts, index, info, slices.parse(info, text), ((0, shift),))


def module_unit(texts: Callable[[str], Source], index: FileIndex, info: FunctionInfo, slices: Slices) -> Unit:
    """Parse the module's top level, each function replaced by `0`. Raises libcst.ParserSyntaxError, SourceError."""
    text, pieces = module_slice(texts(info.path), index)
    return Unit(texts, index, info, slices.parse(info, text), pieces)
