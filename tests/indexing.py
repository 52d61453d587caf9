"""Indexes of source text, for the tests of the index."""

from __future__ import annotations

import textwrap

from torchmemlint.index.build import index_source
from torchmemlint.index.model import FileIndex, FunctionInfo
from torchmemlint.source import Source


def index(text: str, module: str = "pkg.mod", is_package: bool = False) -> FileIndex:
    """The index of dedented source text."""
    return index_source(Source("pkg/mod.py", textwrap.dedent(text).encode()), module, is_package)


def function(file: FileIndex, qualname: str) -> FunctionInfo:
    return file.functions[f"{file.module}:{qualname}"]
