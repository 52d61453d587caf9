"""Trying fixes on text: the nodes meant are marked «so», the unit is the one the engine would make."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

import libcst as cst

from torchmemlint.findings import Fix
from torchmemlint.fixes import Plan, apply, resolve
from torchmemlint.flow.lean import children
from torchmemlint.flow.units import Slices, Unit, function_unit, module_unit
from torchmemlint.index.build import index_source
from torchmemlint.source import Source, decode

Build = Callable[..., Plan]
STATEMENT = (cst.BaseSmallStatement, cst.SimpleStatementLine, cst.BaseCompoundStatement)
EXPRESSION = (cst.BaseExpression,)


def unit_at(source: Source, offset: int) -> Unit:
    """The function's unit around a byte offset, else the module's."""
    index = index_source(source, "m", False)
    row = source.location(offset).row
    for info in index.functions.values():
        if info.name and info.first_line <= row <= info.end_line:
            return function_unit(lambda _: source, index, info, Slices())
    return module_unit(lambda _: source, index, next(f for f in index.functions.values() if not f.name), Slices())


def marked(text: str, raw: Callable[[str], bytes] = str.encode) -> tuple[Source, list[tuple[int, int]]]:
    """The source without its marks, and the marked byte ranges, by their starts."""
    plain = re.sub("[«»]", "", text)
    spans, opened, at = [], [], 0
    for char in text:
        if char == "«":
            opened.append(at)
        elif char == "»":
            spans.append((opened.pop(), at))
        else:
            at += len(char.encode())
    return decode(raw(plain), "m.py"), sorted(spans)


def node_at(unit: Unit, span: tuple[int, int], kind: tuple[type[cst.CSTNode], ...]) -> cst.CSTNode:
    """The innermost node of a kind with exactly this span."""
    found: list[cst.CSTNode] = []

    def look(node: cst.CSTNode) -> None:
        for child in children(node):
            look(child)
        if not found and isinstance(node, kind) and unit.span(node) == span:
            found.append(node)

    look(unit.tree)
    if not found:  # parts that lean trees have not, as the literals that adjoin an f-string
        look(unit.concrete)
    assert found, f"no {kind} at {unit.source.data[slice(*span)]!r}"
    return found[0]


def plan_for(
    text: str,
    build: Build,
    kind: tuple[type[cst.CSTNode], ...] = EXPRESSION,
    raw: Callable[[str], bytes] = str.encode,
) -> tuple[Source, Fix | None]:
    """The fix that `build(unit, *marked nodes)` comes to."""
    source, spans = marked(text, raw)
    unit = unit_at(source, spans[0][0])
    return source, resolve(build(unit, *(node_at(unit, span, kind) for span in spans)), unit)


def fixed(
    text: str,
    build: Build,
    kind: tuple[type[cst.CSTNode], ...] = EXPRESSION,
    raw: Callable[[str], bytes] = str.encode,
) -> str | None:
    """The text after the fix, None where there is none. The result must parse."""
    source, fix = plan_for(text, build, kind, raw)
    if fix is None:
        return None
    data, made = apply(source.data, [fix])
    assert made == [fix]
    ast.parse(data.decode())
    return data.decode()
