"""Slices of a file that libcst parses on their own: one function with all that is nested in it, or the module's
top level with the bodies of its functions blanked out. Offsets and lines are the file's, by a constant shift."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, CodeSpan, MetadataWrapper

from torchmemlint.findings import Location
from torchmemlint.index.model import FileIndex, FunctionInfo
from torchmemlint.source import Source

PREFIX = b"if 1:\n"
_BLANK = bytes(c if c in b"\n\r" else 32 for c in range(256))


@dataclass(eq=False)
class Unit:
    """One parsed slice. `function` is the FunctionInfo it holds (the module body's for the top level)."""

    source: Source
    index: FileIndex
    function: FunctionInfo
    tree: cst.Module
    shift: int  # file offset = offset in the tree's code + shift
    _spans: dict[cst.CSTNode, CodeSpan] | None = field(default=None, repr=False)

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Byte offsets [start, end) of a node in `source.data`; without the parentheses around an expression."""
        if self._spans is None:
            wrapper = MetadataWrapper(self.tree, unsafe_skip_copy=True)
            self._spans = cast("dict[cst.CSTNode, CodeSpan]", dict(wrapper.resolve(ByteSpanPositionProvider)))
        span = self._spans[node]
        return span.start + self.shift, span.start + span.length + self.shift

    def locations(self, node: cst.CSTNode) -> tuple[Location, Location]:
        """Where the node starts and ends, as rows and columns of the file."""
        start, end = self.span(node)
        return self.source.location(start), self.source.location(end)

    def text(self, node: cst.CSTNode) -> str:
        """The node's own source text."""
        start, end = self.span(node)
        return self.source.data[start:end].decode("utf-8")


def _bounds(source: Source, first: int, last: int) -> tuple[int, int]:
    starts = source.line_starts
    return starts[first - 1], starts[last] if last < len(starts) else len(source.data)


def function_unit(source: Source, index: FileIndex, info: FunctionInfo) -> Unit:
    """Parse one function from its first decorator to its end. Raises libcst.ParserSyntaxError."""
    start, end = _bounds(source, info.first_line, info.end_line)
    text, shift = source.data[start:end], start
    if info.column > 0:
        text, shift = PREFIX + text, start - len(PREFIX)
    return Unit(source, index, info, cst.parse_module(text.decode("utf-8")), shift)


def _blanked(data: bytes, start: int, end: int) -> bytes:
    """The body [start, end) as the statement `0` and spaces, line ends kept."""
    return b"0" + data[start + 1 : end].translate(_BLANK)


def module_unit(source: Source, index: FileIndex, info: FunctionInfo) -> Unit:
    """Parse the module's top level, function bodies elided. Raises libcst.ParserSyntaxError."""
    data = source.data
    pieces, at = [], 0
    for function in sorted(index.functions.values(), key=lambda f: f.line):
        if not function.name or function.body_line <= function.line:
            continue
        line_start, end = _bounds(source, function.body_line, function.end_line)
        start = line_start + function.body_column
        if start < at or data[line_start:start].strip():
            continue  # nested in what is blanked, or on the line of its signature
        pieces += [data[at:start], _blanked(data, start, end)]
        at = end
    pieces.append(data[at:])
    return Unit(source, index, info, cst.parse_module(b"".join(pieces).decode("utf-8")), 0)
