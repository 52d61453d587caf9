"""What IPython understands besides Python (magics, shell lines, help), replaced by numbers and put back."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from torchmemlint.source import SourceError

# Cell magics whose body is Python that runs in the notebook's own namespace.
_PYTHON_BODIES = frozenset("capture debug memit mprun prun pyinstrument scalene snakeviz time timeit wandb".split())
_INDENT = re.compile(r"\s*^([ \t]*)(?=\S)", re.MULTILINE)
_ESCAPED = re.compile(r"%|!|\?|,|;|/(?=\w)")
_HELP = re.compile(r"%{0,2}[\w.*]+\?{1,2}\s*$")
_ASSIGNED = re.compile(r"([A-Za-z_][\w.,\[\]'\" ]*=\s*)([!%](?!=).*)$")
_TIMED = re.compile(r"(%time\s+)(\S.*)$")
_AUTOMAGIC = re.compile(
    r"(?:pip|conda|mamba|uv|cd|ls|ll|mkdir|rmdir|cat|cp|mv|rm|man|less|more|env|who|whos)(?:\s+[^=\s(.,:].*)?$"
)
_LEXEME = re.compile(
    r"""("{3}|'{3})|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(\#.*)|([(\[{])|([)\]}])""",
)


class Swap(NamedTuple):
    """A line's parts: `before` + `original` + `after` was written, the middle is replaced by `stand_in`."""

    before: str
    original: str
    stand_in: str
    after: str = ""


@dataclass(frozen=True)
class Neutral:
    """A cell's text as Python: the n-th `marker` in it begins what stands for the n-th magic; `indent`: what its lines
    began with, which IPython takes away."""

    text: str
    marker: str
    swaps: tuple[Swap, ...] = ()
    indent: str = ""


def neutral(text: str, marker: str) -> Neutral | None:
    """The cell as Python of as many lines, `marker` being a number that is not in it; None for a cell that is none.

    What follows a magic on its line keeps its column."""
    magic = re.match(r"\s*%%(\w*)", text)
    if magic and magic[1] not in _PYTHON_BODIES:
        return None
    if _parses(text):
        return Neutral(text, marker)
    indent = _INDENT.match(text)
    if indent and indent[1]:
        text = re.sub(f"(?m)^{indent[1]}", "", text)
        if _parses(text):
            return Neutral(text, marker, indent=indent[1])
    made = _swapped(text, marker)
    return replace(made, indent=indent[1]) if indent else made


def _swapped(text: str, marker: str) -> Neutral:
    """The text with stand-ins for its magics."""
    lines, swaps, lexer, indent = [], [], _Lexer(), None
    for line in text.split("\n"):
        body, end = (line[:-1], "\r") if line.endswith("\r") else (line, "")
        swap = _continued(body, indent, marker) if indent is not None else _swap(body, marker) if lexer.free else None
        indent = None
        if swap is None:
            lexer.read(body)
            lines.append(line)
            continue
        swaps.append(swap)
        lines.append(swap.before + swap.stand_in + swap.after + end)
        lexer.read(swap.after)
        if swap.original.endswith("\\"):
            indent = swap.before[: len(swap.before) - len(swap.before.lstrip())]
    return Neutral("\n".join(lines), marker, tuple(swaps))


def restored(new: str, cell: Neutral, old: str) -> str:
    """The cell's text with its magics, `new` being a changed `cell.text` and `old` the text that it was made of.
    Raises SourceError where a magic is gone."""
    if new == cell.text:
        return old
    first, *rest = new.split(cell.marker)
    if len(rest) != len(cell.swaps):
        raise SourceError("the change would touch a magic")
    pieces = [first]
    for swap, part in zip(cell.swaps, rest):
        padding = swap.stand_in[len(cell.marker) :]
        padding = padding if part.startswith(padding) else padding.rstrip()
        if not part.startswith(padding):
            raise SourceError("the change would touch a magic")
        pieces += [swap.original, part[len(padding) :]]
    text = "".join(pieces)
    if cell.indent:
        if any(line.strip() and not line.startswith(cell.indent) for line in old.splitlines()):
            raise SourceError("the change would touch a cell whose lines are not all indented")
        text = re.sub(r"(?m)^(?=.)", cell.indent, text)
    if old.lstrip().startswith("%%") and not text.lstrip().startswith("%%"):
        raise SourceError("the change would come before a cell magic")
    return text


def _swap(line: str, marker: str) -> Swap | None:
    """How to make a line Python that begins a logical line; None: it is Python."""
    body = line.lstrip()
    indent = line[: len(line) - len(body)]
    if (timed := _TIMED.match(body)) and _parses(timed[2]):
        return Swap(indent, timed[1], f"{marker};".ljust(len(timed[1])), timed[2])
    if (assigned := _ASSIGNED.match(body)) and not body.startswith(("%", "!")):
        return Swap(indent + assigned[1], assigned[2], marker.ljust(len(assigned[2])))
    if _ESCAPED.match(body) or _HELP.match(body) or (_AUTOMAGIC.match(body) and not _parses(body)):
        return Swap(indent, body, marker.ljust(len(body)))
    return None


def _continued(line: str, indent: str, marker: str) -> Swap | None:
    """The next line of a shell command that ended in a backslash."""
    body = line[len(indent) :] if line.startswith(indent) else line.lstrip()
    return Swap(indent, body, marker.ljust(len(body))) if body.strip() else None


@dataclass
class _Lexer:
    """Knows whether the next line begins a statement: not inside brackets or a long string, nor after a backslash."""

    depth: int = 0
    quote: str = ""
    broken: bool = False

    @property
    def free(self) -> bool:
        """Does a statement begin here?"""
        return not (self.depth or self.quote or self.broken)

    def read(self, line: str) -> None:
        """Take note of a line."""
        comment = False
        for lexeme in self._lexemes(line):
            comment = lexeme == "#"
            self.depth = max(0, self.depth + {"(": 1, ")": -1}.get(lexeme, 0))
        self.broken = line.endswith("\\") and not comment and not self.quote

    def _lexemes(self, line: str) -> Iterator[str]:
        """The line's opening and closing brackets and its comment, as one character each."""
        at = 0
        while at <= len(line):
            if self.quote:
                end = line.find(self.quote, at)
                if end < 0:
                    return
                at, self.quote = end + 3, ""
            match = _LEXEME.search(line, at)
            if match is None:
                return
            at = match.end()
            if match[1]:
                self.quote = match[1]
            elif match[2] or match[3] or match[4]:
                yield "#" if match[2] else "(" if match[3] else ")"


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
