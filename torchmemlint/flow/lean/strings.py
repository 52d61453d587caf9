"""Lean strings: literals as they are written, adjoining ones, f-strings with their expressions."""

from __future__ import annotations

import ast
import re
import sys
from typing import Any

import libcst as cst

from torchmemlint.flow.lean.build import CONVERTERS, Text, Unconvertible, maker

_simple = maker(cst.SimpleString, "value")
_joined = maker(cst.ConcatenatedString, "left", "right")
_formatted = maker(cst.FormattedString, "parts")
_part = maker(cst.FormattedStringExpression, "expression", "format_spec")
_words = maker(cst.FormattedStringText, "value")

PLACED = sys.version_info >= (3, 12)
"""Does `ast` tell where the parts of an f-string are?"""
_LITERAL = re.compile(
    rb"[a-zA-Z]{0,2}(?:"
    rb'"""(?:[^"\\]|\\.|"(?!""))*"""'
    rb"|'''(?:[^'\\]|\\.|'(?!''))*'''"
    rb'|"(?:[^"\\\n]|\\.)*"'
    rb"|'(?:[^'\\\n]|\\.)*')",
    re.DOTALL,
)
_GAP = re.compile(rb"(?:\s|\\\n|#[^\n]*)*")


def literal(text: Text, node: ast.Constant) -> Any:
    """A string or bytes constant: one literal, or several that adjoin."""
    if text.blind:
        return _simple(repr(node.value))
    written = text.of(node)
    found = _LITERAL.match(written)
    if found is not None and found.end() == len(written):
        return _simple(written.decode("utf-8"))
    parts = list(_literals(written))
    tree = parts.pop()
    while parts:
        tree = _joined(parts.pop(), tree)
    return tree


def _literals(written: bytes) -> Any:
    at = 0
    while at < len(written):
        found = _LITERAL.match(written, at)
        if found is None:
            raise Unconvertible("a string")
        yield _simple(found.group().decode("utf-8"))
        gap = _GAP.match(written, found.end())
        at = gap.end() if gap is not None else found.end()


def _format(text: Text, node: ast.JoinedStr) -> Any:
    """An f-string, with what adjoins it, as one; its words only tell it from others."""
    outer, text.blind = text.blind, not PLACED
    parts = _formatted(_parts(text, node))
    text.blind = outer
    return parts


def _parts(text: Text, node: ast.JoinedStr) -> tuple[Any, ...]:
    parts: list[Any] = []
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            specification = value.format_spec
            inner = _parts(text, specification) if isinstance(specification, ast.JoinedStr) else None
            parts.append(_part(CONVERTERS[type(value.value)](text, value.value), inner))
        elif isinstance(value, ast.Constant):
            parts.append(_words(value.value))
    return tuple(parts)


CONVERTERS[ast.JoinedStr] = _format
