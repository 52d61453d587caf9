"""Stamps: numbers that change with what a file, class or function is, whatever rows it stands on."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from torchmemlint.index.model import ClassInfo, FileIndex, FunctionInfo
from torchmemlint.index.slices import function_bounds, module_slice
from torchmemlint.source import Source


@dataclass(frozen=True, slots=True)
class Stamps:
    """The stamps of one file."""

    text: int  # every byte
    header: int  # the file's names: imports, what is bound at module level, which functions and classes there are
    functions: dict[str, int] = field(default_factory=dict)  # id -> text and info
    classes: dict[str, int] = field(default_factory=dict)  # id -> bases, fields, which methods there are


def stamp(*parts: bytes) -> int:
    """A number for these texts; 56 bits, so that it is compact in JSON."""
    return int.from_bytes(blake2b(b"\0".join(parts), digest_size=7).digest(), "little")


def stamps(source: Source, index: FileIndex) -> Stamps:
    """The stamps of what was indexed from `source`."""
    data = source.data
    functions = {}
    for key, info in index.functions.items():
        if info.name:
            start, end = function_bounds(source, info)
            text = data[start:end]
        else:
            text = module_slice(source, index)[0] + " ".join(sorted(info.words)).encode()
        functions[key] = stamp(_bytes(_function(info)), text)
    classes = {key: stamp_of(_class(info)) for key, info in index.classes.items()}
    return Stamps(stamp(source.raw), stamp_of(_header(index)), functions, classes)


def stamp_of(parts: Any) -> int:
    """A number for anything that its `repr` tells."""
    return stamp(_bytes(parts))


def _bytes(parts: Any) -> bytes:
    return repr(parts).encode("utf-8", "surrogatepass")


def _function(info: FunctionInfo) -> tuple[Any, ...]:
    """All but the words, which the text tells, and where it stands in the file."""
    first = info.first_line
    rows = (info.line - first, info.body_line - first, info.end_line - first, info.column, info.body_column)
    parameters = [(p.name, p.kind, p.annotation, p.number) for p in info.parameters]
    kinds = (info.is_async, info.is_generator, info.returns, info.decorators, info.owner)
    return (info.path, info.id, rows, parameters, kinds, sorted(info.marks), sorted(info.plain), info.made)


def _class(info: ClassInfo) -> tuple[Any, ...]:
    return (info.path, info.id, info.bases, info.decorators, info.methods, info.fields)


def _header(index: FileIndex) -> tuple[Any, ...]:
    bound = (sorted(index.globals), sorted(index.assigned), index.constructed, index.aliases)
    kinds = (index.module, index.is_package, index.mentions_torch)
    return (index.path, kinds, index.imports, index.stars, bound, list(index.functions), list(index.classes))
