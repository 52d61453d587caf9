"""Where a file is cut: the text of each function, and of the module's top level without its functions."""

from __future__ import annotations

from torchmemlint.index.model import FileIndex, FunctionInfo
from torchmemlint.source import Source


def bounds(source: Source, first: int, last: int) -> tuple[int, int]:
    """Byte offsets [start, end) of the rows from `first` to `last`."""
    starts = source.line_starts
    return starts[first - 1], starts[last] if last < len(starts) else len(source.data)


def function_bounds(source: Source, info: FunctionInfo) -> tuple[int, int]:
    """Byte offsets [start, end) of a function from its first decorator to its end."""
    return bounds(source, info.first_line, info.end_line)


def module_slice(source: Source, index: FileIndex) -> tuple[bytes, tuple[tuple[int, int], ...]]:
    """The module's top level, each function replaced by `0`, and its pieces: (offset in this text, file offset -
    that) where the difference changes."""
    data = source.data
    parts, pieces, at, size = [], [(0, 0)], 0, 0
    for function in sorted(index.functions.values(), key=lambda f: f.line):
        if not function.name:
            continue
        line_start, end = bounds(source, function.first_line, function.end_line)
        start = line_start + function.column
        if start < at or data[line_start:start].strip():
            continue  # nested in what was left out, or behind something else on its line
        parts += [data[at:start], b"0\n"]
        size += start - at + 2
        pieces.append((size, end - size))
        at = end
    return b"".join([*parts, data[at:]]), tuple(pieces)
