"""Jupyter notebooks: the code cells as one module, and changes of that module written back into the cells' JSON.

Between two cells stands a comment line that marks the border; a magic or shell line is replaced by a number that the
notebook doesn't contain. Both are found again in the changed text, so that nothing else has to be remembered."""

from __future__ import annotations

import bisect
import codecs
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from torchmemlint.findings import Location
from torchmemlint.magics import Neutral, neutral, restored
from torchmemlint.source import Source, SourceError

_SPACE = re.compile(r"[ \t\r\n]*")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_decode_value = json.JSONDecoder().raw_decode
Span = tuple[int, int]


@dataclass(frozen=True)
class Cell:
    """A code cell. `number`: its place among all cells, from 1; `span`: its source in the notebook's text, `pieces` the
    strings of that source if it is a list; `body` None: not Python."""

    number: int
    span: Span
    pieces: tuple[Span, ...]
    text: str
    body: Neutral | None


@dataclass(frozen=True)
class Notebook:
    """A notebook's text and its code cells. `border`: what the border lines begin with."""

    text: str
    cells: tuple[Cell, ...]
    border: str

    @cached_property
    def module(self) -> str:
        """All Python cells as one text."""
        return "".join(self._part(cell) for cell in self.cells if cell.body is not None)

    def _part(self, cell: Cell) -> str:
        assert cell.body is not None
        return f"{self.border}{cell.number}\n{_closed(cell.body.text)}"

    def parts(self, module: str) -> list[tuple[Cell, int, str]]:
        """(cell, 1-based row of its first line, text) of each cell in a module that was made of this notebook's.
        Raises SourceError where a border is gone."""
        lines = _LINE.findall(module)
        borders = [row for row, line in enumerate(lines) if line.startswith(self.border)]
        cells = [cell for cell in self.cells if cell.body is not None]
        names = [lines[row].rstrip("\n") for row in borders]
        if names != [f"{self.border}{cell.number}" for cell in cells] or (borders and borders[0] != 0):
            raise SourceError("the change would cross the border of a cell")
        ends = [*borders[1:], len(lines)]
        return [(c, row + 2, "".join(lines[row + 1 : end])) for c, row, end in zip(cells, borders, ends)]

    def texts(self, module: str) -> dict[int, str]:
        """cell number -> the cell's own text, magics restored. Raises SourceError where one is gone."""
        result = {}
        for cell, _, part in self.parts(module):
            assert cell.body is not None
            added = part.endswith("\n") and not cell.body.text.endswith("\n")
            result[cell.number] = restored(part[:-1] if added else part, cell.body, cell.text)
        return result

    def written(self, module: str) -> str:
        """The notebook's text with the changed cells; everything else byte for byte. Raises SourceError."""
        texts = self.texts(module)
        result, at = [], 0
        ascii_only = self.text.isascii() and "\\u" in self.text
        for cell in self.cells:
            new = texts.get(cell.number, cell.text)
            if new != cell.text:
                result += [self.text[at : cell.span[0]], _rewritten(self.text, cell, new, ascii_only)]
                at = cell.span[1]
        return "".join([*result, self.text[at:]])

    def file_row(self, number: int, row: int) -> int:
        """Row in the notebook's text of a cell's line."""
        cell = next(c for c in self.cells if c.number == number)
        at, seen = cell.span[0], 0
        for start, end in cell.pieces:
            at = start
            seen += json.loads(self.text[start:end]).count("\n")
            if seen >= row:
                break
        return self.text.count("\n", 0, at) + 1


@dataclass
class NotebookSource(Source):
    """The module of a notebook's cells; `raw` is the notebook."""

    notebook: Notebook = field(default_factory=lambda: Notebook("", (), "#"))

    def encode(self, data: bytes) -> bytes:
        """The notebook with the cells that `data` gives. Raises SourceError."""
        return (codecs.BOM_UTF8 if self.bom else b"") + self.notebook.written(data.decode("utf-8")).encode("utf-8")

    @cached_property
    def _parts(self) -> list[tuple[Cell, int, str]]:
        return self.notebook.parts(self.text)

    def placed(self, location: Location) -> Location:
        """The place in its cell of a place in the module."""
        if location.cell or not self._parts:
            return location
        at = bisect.bisect_right([row for _, row, _ in self._parts], location.row) - 1
        cell, first, _ = self._parts[max(at, 0)]
        shift = len(cell.body.indent) if cell.body is not None else 0
        return Location(max(location.row - first + 1, 1), location.column + shift, cell.number)

    def shown(self, location: Location) -> str:
        """The line that a place in a cell is on, magics as they were written."""
        if not location.cell:
            return self.line(location.row)
        lines = self._texts.get(location.cell, "").split("\n")
        return lines[location.row - 1].rstrip("\r") if location.row <= len(lines) else ""

    @cached_property
    def _texts(self) -> dict[int, str]:
        return self.notebook.texts(self.text)

    def documents(self) -> list[tuple[str, str]]:
        """(label, text) of each cell, for diffs."""
        return [(f"{self.path}:cell {number}", text) for number, text in self._texts.items()]

    def file_row(self, location: Location) -> int:
        """Row of the .ipynb file."""
        if not location.cell:
            return 1
        return self._as_written.file_row(location.cell, location.row)

    @cached_property
    def _as_written(self) -> Notebook:
        if self.text == self.notebook.module:
            return self.notebook
        return parse(self.notebook.written(self.text))


def decode(raw: bytes, path: str) -> NotebookSource:
    """The notebook in `raw` as a module. Raises SourceError."""
    bom = raw.startswith(codecs.BOM_UTF8)
    try:
        text = raw[len(codecs.BOM_UTF8) * bom :].decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError("not valid utf-8", raw.count(b"\n", 0, error.start) + 1) from None
    notebook = parse(text)
    try:
        data = notebook.module.encode("utf-8")
    except UnicodeEncodeError:
        raise SourceError("a cell contains half a surrogate pair") from None
    if b"\0" in data:
        raise SourceError("a cell contains a null character")
    return NotebookSource(path, data, "utf-8", bom, raw, notebook)


def parse(text: str) -> Notebook:
    """The notebook in a JSON text. Raises SourceError with place and reason."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise SourceError(f"not a notebook: {error.msg}", error.lineno, error.colno) from None
    except RecursionError:
        raise SourceError("not a notebook: nested too deeply") from None
    if isinstance(content, dict) and isinstance(content.get("worksheets"), list):
        raise SourceError("notebook format 3: convert it with `jupyter nbconvert --to notebook --nbformat 4`")
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list):
        raise SourceError("not a notebook: no list of cells")
    if not _is_python(content):
        return Notebook(text, (), "#")
    cells = tuple(_cells(text, content["cells"]))
    all_text = "\n".join(cell.text for cell in cells)
    border = next(b for n in range(1, 1000) if (b := f"#{'|' * n} cell ") not in all_text)
    marker = next(m for n in range(1, 1000) if (m := f"0_{'0' * n}") not in all_text)
    return Notebook(text, tuple(replace(cell, body=neutral(cell.text, marker)) for cell in cells), border)


def _is_python(content: dict[str, object]) -> bool:
    """Does the notebook's kernel run Python? Yes, where nothing is said."""
    metadata = content.get("metadata")
    kernel, language = (
        (metadata.get("kernelspec"), metadata.get("language_info")) if isinstance(metadata, dict) else (None, None)
    )
    name = language.get("name") if isinstance(language, dict) else None
    name = name or (kernel.get("language") if isinstance(kernel, dict) else None)
    return not isinstance(name, str) or name.lower() in ("python", "ipython", "python3")


def _cells(text: str, cells: Sequence[object]) -> Iterator[Cell]:
    """The code cells with their spans, not yet made neutral."""
    spans = list(_items(text, _member(text, _after(text, 0), "cells")[0]))
    for number, (cell, span) in enumerate(zip(cells, spans), 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code" or _other_language(cell):
            continue
        source = cell.get("source", "")
        lines = source if isinstance(source, list) else [source]
        if "source" not in cell or not all(isinstance(line, str) for line in lines):
            raise SourceError(f"not a notebook: cell {number} has no source")
        where = _member(text, span[0], "source")
        pieces = tuple(_items(text, where[0])) if isinstance(source, list) else ()
        yield Cell(number, where, pieces, "".join(lines), None)


def _other_language(cell: dict[str, object]) -> bool:
    """Is the cell marked as another language's, as VS Code does it?"""
    metadata = cell.get("metadata")
    editor = metadata.get("vscode") if isinstance(metadata, dict) else None
    return isinstance(editor, dict) and editor.get("languageId", "python") != "python"


def _after(text: str, at: int) -> int:
    """The next place that isn't white space."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _items(text: str, at: int) -> Iterator[Span]:
    """Where the items of the array at `at` are."""
    at = _after(text, at + 1)
    while text[at] != "]":
        _, end = _decode_value(text, at)
        yield at, end
        at = _after(text, end)
        at = _after(text, at + 1) if text[at] == "," else at


def _member(text: str, at: int, key: str) -> Span:
    """Where the value of `key` is in the object at `at`, which has one."""
    found = (at, at)
    at = _after(text, at + 1)
    while text[at] != "}":
        name, end = _decode_value(text, at)
        start = _after(text, _after(text, end) + 1)
        _, end = _decode_value(text, start)
        found = (start, end) if name == key else found
        at = _after(text, end)
        at = _after(text, at + 1) if text[at] == "," else at
    return found


def _rewritten(text: str, cell: Cell, new: str, ascii_only: bool) -> str:
    """The JSON of a cell's new source, in the layout of the old one; lines that stay keep their spelling."""
    if text[cell.span[0]] != "[":
        return json.dumps(new, ensure_ascii=ascii_only)
    spelled = [text[start:end] for start, end in cell.pieces]
    old, lines = [json.loads(piece) for piece in spelled], _LINE.findall(new)
    head = next((i for i, (a, b) in enumerate(zip(old, lines)) if a != b), min(len(old), len(lines)))
    most = min(len(old), len(lines)) - head
    tail = next((i for i in range(most) if old[-1 - i] != lines[-1 - i]), most)
    middle = [json.dumps(line, ensure_ascii=ascii_only) for line in lines[head : len(lines) - tail]]
    pieces = [*spelled[:head], *middle, *spelled[len(spelled) - tail :]]
    if not pieces or not cell.pieces:
        return f"[{', '.join(pieces)}]"
    first, last = cell.pieces[0][0], cell.pieces[-1][1]
    opening, closing = text[cell.span[0] : first], text[last : cell.span[1]]
    between = text[cell.pieces[0][1] : cell.pieces[1][0]] if len(cell.pieces) > 1 else "," + (opening[1:] or " ")
    return opening + between.join(pieces) + closing


def _closed(text: str) -> str:
    return text if text.endswith("\n") or not text else text + "\n"
