"""Source text: read by its declared encoding, kept byte for byte, measured in UTF-8 offsets."""

from __future__ import annotations

import bisect
import codecs
import io
import re
import tokenize
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from torchmemlint.findings import Location

_KEYWORD_ARGUMENT = re.compile(r"\basync(?=[ \t]*=[^=])")  # no keyword before Python 3.7


class SourceError(Exception):
    """A file that cannot be read as Python text; `row` and `column` are 1-based."""

    def __init__(self, message: str, row: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message, self.row, self.column = message, row, column


@dataclass
class Source:
    """The text of one file; `data` is the text as UTF-8 without BOM: all offsets count its bytes."""

    path: str
    data: bytes
    encoding: str = "utf-8"
    bom: bool = False
    raw: bytes = field(default=b"", repr=False)

    @cached_property
    def text(self) -> str:
        """The decoded text, newlines as in the file."""
        return self.data.decode("utf-8")

    @cached_property
    def line_starts(self) -> list[int]:
        """Byte offset of each line's start, as Python counts lines: LF, CR LF or a lone CR end one."""
        lines = self.data.splitlines(keepends=True)
        if lines and not lines[-1].endswith((b"\n", b"\r")):
            lines.pop()  # nothing starts behind it
        return [0, *accumulate(map(len, lines))]

    @cached_property
    def newline(self) -> str:
        """The file's first line ending; a line feed where it has none."""
        first = self.data[: self.line_starts[1]] if len(self.line_starts) > 1 else b"\n"
        return "\r\n" if first.endswith(b"\r\n") else "\r" if first.endswith(b"\r") else "\n"

    @property
    def checksum(self) -> int:
        """A number that tells this text from another."""
        return zlib.crc32(self.data)

    def location(self, offset: int) -> Location:
        """Row and column of a byte offset."""
        row = bisect.bisect_right(self.line_starts, offset)
        start = self.line_starts[row - 1]
        return Location(row, len(self.data[start:offset].decode("utf-8", "replace")) + 1)

    def line(self, row: int) -> str:
        """The text of a 1-based row without its line ending; empty where there is none."""
        if not 0 < row <= len(self.line_starts):
            return ""
        end = self.line_starts[row] if row < len(self.line_starts) else len(self.data)
        return self.data[self.line_starts[row - 1] : end].decode("utf-8", "replace").rstrip("\r\n")

    def placed(self, location: Location) -> Location:
        """The place to show for a place in the text: another one in notebooks only."""
        return location

    def shown(self, location: Location) -> str:
        """The line that a place to show is on."""
        return self.line(location.row)

    def file_row(self, location: Location) -> int:
        """The row of the file, which for notebooks is JSON, of a place to show."""
        return location.row

    def documents(self) -> list[tuple[str, str]]:
        """(label, text) of what a diff compares: the file, or a notebook's cells."""
        return [(self.path, self.text)]

    def encode(self, data: bytes) -> bytes:
        """UTF-8 bytes back in the file's own encoding, BOM included. Raises UnicodeEncodeError; SourceError for a
        change that a notebook can't take."""
        body = data if self.encoding == "utf-8" else data.decode("utf-8").encode(self.encoding)
        return (codecs.BOM_UTF8 if self.bom else b"") + body


def renamed(text: str) -> str:
    """The text with a name of the same length for the argument of `x.cuda(async=True)`, a keyword since Python 3.7;
    the same text where there is none. Every place stays where it is."""
    return _KEYWORD_ARGUMENT.sub("Async", text)


def decode(raw: bytes, path: str) -> Source:
    """The source in `raw`, by BOM and coding line; of a notebook its cells. Raises SourceError with the place."""
    if path.endswith(".ipynb"):
        from torchmemlint import notebook

        return notebook.decode(raw, path)
    bom = raw.startswith(codecs.BOM_UTF8)
    body = raw[len(codecs.BOM_UTF8) :] if bom else raw
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
    except SyntaxError as error:
        raise SourceError(f"cannot tell the encoding: {error.msg}") from None
    encoding = "utf-8" if encoding in ("utf-8", "utf-8-sig") else encoding
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        row = body.count(b"\n", 0, error.start) + 1
        raise SourceError(f"not valid {encoding}: save it as UTF-8 or add a coding line", row) from None
    if "\0" in text:
        raise SourceError("contains a null byte", text.count("\n", 0, text.index("\0")) + 1)
    data = raw if encoding == "utf-8" and not bom else text.encode("utf-8")
    return Source(path, data, encoding, bom, raw)


def read(path: str, checksum: int | None = None) -> Source:
    """Read and decode the file. Raises SourceError, also where it cannot be opened or has no longer this checksum:
    places are told by offsets in the text that was indexed."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (half the time of a Path)
            raw = file.read()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}") from None
    text = decode(raw, path)
    if checksum not in (None, text.checksum):
        raise SourceError(f"`{path}` has changed while it was checked: check it again")
    return text
