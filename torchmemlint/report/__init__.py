"""Reporters: plain-data diagnostics in, text out; one format a module, loaded when asked for."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH117

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import PurePath
from typing import TextIO

from torchmemlint.findings import Diagnostic, Location
from torchmemlint.source import Source, SourceError

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")


@dataclass
class Context:
    """What reporters know besides the findings."""

    read: Callable[[str], Source]  # raises SourceError
    files: int = 0  # files checked
    fixed: Counter[str] | None = None  # findings fixed before, by code; None where nothing was to be fixed
    unsafe: bool = False  # were unsafe fixes to be made too?
    statistics: bool = False
    summary: bool = True
    texts: dict[str, Source | None] = field(default_factory=dict)

    def source(self, path: str) -> Source | None:
        """The file's text, read once; None where it can't be read."""
        if path not in self.texts:
            try:
                self.texts[path] = self.read(path)
            except SourceError:
                self.texts[path] = None
        return self.texts[path]

    def line(self, path: str, row: int) -> str:
        """The text of a row; empty where there is none."""
        source = self.source(path)
        return source.line(row) if source else ""

    def shown(self, path: str, place: Location) -> str:
        """The line of a place to show; empty where there is none."""
        source = self.source(path)
        return source.shown(place) if source else ""

    def file_row(self, path: str, place: Location) -> int:
        """The row of the file itself of a place to show: for a notebook that of its JSON."""
        source = self.source(path) if place.cell else None
        return source.file_row(place) if source else place.row


def relative(filename: str) -> str:
    """The file's name with slashes, relative to the working directory where it lies below."""
    path = os.path.relpath(filename) if os.path.isabs(filename) else filename
    return PurePath(filename if path.startswith("..") else path).as_posix()


def spot(place: Location) -> str:
    """`row:column`; in a notebook `cell 3:row:column`."""
    return f"{f'cell {place.cell}:' if place.cell else ''}{place.row}:{place.column}"


def report(format_name: str, diagnostics: Sequence[Diagnostic], context: Context, stream: TextIO) -> None:
    """Write the findings to `stream` in one of FORMATS."""
    assert format_name in FORMATS
    module = import_module(f"torchmemlint.report.{format_name}")
    module.write(diagnostics, context, stream)


_CONTROL = {c: f"\\x{c:02x}" for c in (*range(32), *range(127, 160))}
# Marks that reorder or hide text: a terminal would show another program than the one that runs.
_CONTROL.update({c: f"\\u{c:04x}" for c in (*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2066, 0x206A))})
_CONTROL.update({c: f"\\udc{c & 0xFF:02x}" for c in range(0xDC80, 0xDD00)})  # undecodable bytes of file names


def printable(text: str, tab: str = "\\t") -> str:
    """The text with control characters escaped, so that it can't steer a terminal; tabs become `tab`."""
    return text.translate({**_CONTROL, 9: tab})


@dataclass(frozen=True)
class Row:
    """How often a code was found, and how many of the findings have a fix of either kind."""

    count: int
    code: str
    name: str
    safe: int
    unsafe: int

    @property
    def mark(self) -> str:
        """An asterisk where there is a fix."""
        return "*" if self.safe or self.unsafe else " "

    @property
    def fixes(self) -> str:
        """The fixes in words; empty where there is none."""
        kinds = ((self.safe, "safe"), (self.unsafe, "unsafe"))
        words = ", ".join(f"{count} {kind}" for count, kind in kinds if count)
        return words and f"{words} fix{'' if self.safe + self.unsafe == 1 else 'es'}"


def statistics(diagnostics: Sequence[Diagnostic]) -> list[Row]:
    """The counts of each code, the most frequent first."""
    counts: dict[tuple[str, str], Counter[bool | None]] = {}
    for diagnostic in diagnostics:
        safe = diagnostic.fix.safe if diagnostic.fix is not None else None
        counts.setdefault((diagnostic.code, diagnostic.name), Counter())[safe] += 1
    rows = [Row(c.total(), code, name, c[True], c[False]) for (code, name), c in counts.items()]
    return sorted(rows, key=lambda row: (-row.count, row.code))


def docs_url(code: str) -> str | None:
    """Where the rule's documentation is on the web: the package's Documentation address; None where it names none."""
    from importlib import metadata

    try:
        urls = metadata.metadata("torchmemlint").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return None
    pages = (url.partition(",")[2].strip() for url in urls if url.partition(",")[0].strip().lower() == "documentation")
    page = next(pages, None)
    return f"{page}#{code.lower()}" if page else None
