"""Dotted names in `ast` expressions, resolved through a file's imports; the words of a text."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Container, Sequence
from functools import cache

from torchmemlint.knowledge import operator

_WORD = re.compile(r"[^\W\d]\w*")
_PLAIN_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")  # the same of ASCII, in half the time
_COMMENT = re.compile(r"#[^\n\r\"']*$", re.MULTILINE)  # with a quote behind it, it may be in a string
_BREAK = re.compile(r"\r\n|\r|\n")
_TRANSPARENT = frozenset({"Optional", "Annotated", "Final", "ClassVar"})


def words_of(text: str) -> frozenset[str]:
    """Every identifier that occurs in `text`, strings and some comments included: a superset, to prefilter with."""
    code = _COMMENT.sub("", text) if "#" in text else text
    if code.isascii():
        return frozenset(_PLAIN_WORD.findall(code))
    return frozenset(unicodedata.normalize("NFKC", word) for word in _WORD.findall(code))  # as Python compares them


_SAID = frozenset("cpu cuda device dtype data grad requires_grad volatile pin_memory".split())
"""Names of operators that say something as a keyword or in a string, too."""


@cache
def _names_operator(word: str) -> bool:
    return operator(word) is not None and word not in _SAID


@cache
def _uses_of(word: str) -> re.Pattern[str]:
    """A call of the word, or its being asked of an object. A pattern that starts with letters is searched for fast."""
    return re.compile(rf"{word}(?:(?<=\.{word})\b|(?<!\w{word})\s*\()")


def _used(word: str, text: str) -> bool:
    if f".{word}(" in text:
        return True
    may_be = f".{word}" in text or f"{word}(" in text or f"{word} (" in text  # before a pattern is made
    return may_be and _uses_of(word).search(text) is not None


def plain_words(text: str, words: frozenset[str], imported: Container[str]) -> frozenset[str]:
    """Those of the words that name an operator of torch, but are variables or keywords in `text` (`t`, `std`): nothing
    of that name is called, imported or asked of an object."""
    named = set(filter(_names_operator, words))
    if not named or "getattr" in words:
        return frozenset()
    return frozenset(word for word in named if word not in imported and not _used(word, text))


def split_lines(text: str) -> list[str]:
    """The lines as Python counts them: ended by LF, CR LF or a lone CR, by nothing else."""
    return _BREAK.split(text) if "\r" in text else text.split("\n")


def written(node: ast.expr) -> str | None:
    """The dotted name an expression spells ("F.relu"), or None where it is something else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    if not parts:
        return node.id
    parts.append(node.id)
    return ".".join(reversed(parts))


def segment(lines: Sequence[str], node: ast.expr) -> str:
    """The source text of an expression; `ast` counts columns in UTF-8 bytes."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    rows = [line.encode() for line in lines[first : last + 1]]
    if not rows:
        return ast.unparse(node)
    rows[-1] = rows[-1][: node.end_col_offset]
    rows[0] = rows[0][node.col_offset :]
    return b"\n".join(rows).decode()


class Names:
    """Makes names of one file absolute: imports first, then what the file itself defines."""

    def __init__(self, module: str, imports: dict[str, str], defined: set[str], lines: Sequence[str]) -> None:
        self.module, self.imports, self.defined, self.lines = module, imports, defined, lines

    def absolute(self, dotted: str) -> str:
        """`dotted` with its first part replaced by what it stands for; unchanged where that is unknown."""
        head, dot, rest = dotted.partition(".")
        target = self.imports.get(head)
        if target is None:
            return f"{self.module}.{dotted}" if head in self.defined else dotted
        return target + dot + rest

    def name(self, node: ast.expr) -> str:
        """The absolute dotted name of an expression, of a call or subscript that of its callee; else its text."""
        while isinstance(node, (ast.Call, ast.Subscript)):
            node = node.func if isinstance(node, ast.Call) else node.value
        dotted = written(node)
        return self.absolute(dotted) if dotted is not None else segment(self.lines, node)

    def annotation(self, node: ast.expr) -> str:
        """An annotation's absolute dotted name, `Optional` and `| None` dropped; else its source text."""
        dotted = written(node)
        if dotted is not None:
            return self.absolute(dotted)
        if isinstance(node, ast.Constant):
            return self._quoted(node.value) if isinstance(node.value, str) else repr(node.value)
        inner = self._unwrapped(node)
        return self.annotation(inner) if inner is not None else segment(self.lines, node)

    def _quoted(self, text: str) -> str:
        """A forward reference, read as the expression it quotes."""
        if text.isidentifier():
            return self.absolute(text)
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return text
        return Names(self.module, self.imports, self.defined, split_lines(text.strip())).annotation(tree)

    def _unwrapped(self, node: ast.expr) -> ast.expr | None:
        """X of `X | None`, `Optional[X]`, `Union[X, None]` and of the qualifiers that say nothing of the type."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return _other_than_none([node.left, node.right])
        if not isinstance(node, ast.Subscript):
            return None
        outer = (written(node.value) or "").rpartition(".")[2]
        members = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if outer in _TRANSPARENT and members:
            return members[0]
        return _other_than_none(members) if outer == "Union" else None


def _other_than_none(members: list[ast.expr]) -> ast.expr | None:
    """The single member that is not None, where there is exactly one."""
    left = [m for m in members if not (isinstance(m, ast.Constant) and m.value is None)]
    return left[0] if len(left) == 1 else None
