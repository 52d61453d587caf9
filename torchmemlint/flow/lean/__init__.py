"""Lean trees: libcst's nodes, made from Python's own `ast`, with the fields that carry meaning and no others.

Python's parser is ten times as fast as libcst's, whose cost are the objects for blanks, commas and parentheses. The
analysis reads none of these, so it runs on lean trees; libcst parses only slices in which something is found, for
positions and fixes, and `twins` leads from the lean nodes to the full ones."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from torchmemlint.flow.lean import definitions, expressions, statements  # the converters fill the table
from torchmemlint.flow.lean.build import Text, Unconvertible, maker
from torchmemlint.flow.lean.fields import NODES, children, fields, same_code, walk
from torchmemlint.flow.lean.twins import Mismatch, twins

__all__ = ["NODES", "Lean", "Mismatch", "children", "fields", "parse", "same_code", "twins", "walk"]

HANDLERS = (definitions, expressions, statements)
_JOINED = re.compile(rb"[:;][ \t]*\\[\r\n]")  # lines behind a colon or semicolon: rows no longer tell lines apart
_MIXED = re.compile(rb"[\r\n](?: +\t|\t+ )")  # an indentation of which libcst counts the columns in its own way
_module = maker(cst.Module, "body")


@dataclass(frozen=True)
class Lean:
    """A lean tree with the text of some of its nodes."""

    tree: cst.Module
    quoted: Mapping[cst.CSTNode, bytes]

    def code(self, node: cst.CSTNode) -> str | None:
        """The source text of an annotation, an except block or what it catches; None of other nodes."""
        text = self.quoted.get(node)
        return text.decode("utf-8") if text is not None else None


def parse(data: bytes) -> Lean | None:
    """The lean tree of a text in UTF-8; None where it can't be made, as for text that is no Python."""
    lines = rows(data)
    if lines is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(data.decode("utf-8"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return converted(lines, module.body)


def rows(data: bytes) -> list[bytes] | None:
    """The lines of a text, without their ends; None where lean trees can't be made of it."""
    if _is_odd(data):
        return None
    return (data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data).split(b"\n")


def _is_odd(data: bytes) -> bool:
    """Is in it what the two parsers read differently? (Form feeds, which libcst drops, are.)"""
    if b"\f" in data:
        return True
    joined = (b"\\\n" in data or b"\\\r" in data) and _JOINED.search(data) is not None
    return joined or b"\t" in data and _MIXED.search(data) is not None


def converted(lines: list[bytes], body: Sequence[ast.stmt], *, indented: bool = False) -> Lean | None:
    """The lean tree of some statements of a text that has these lines; `indented`: within `if 1:`, as the slice of a
    method is. None where it can't be made."""
    text = Text(lines)
    try:
        made = statements.statements(text, body)
    except (ValueError, RecursionError, MemoryError, Unconvertible):
        return None
    return Lean(_module(statements.guarded(made) if indented else made), text.quoted)
