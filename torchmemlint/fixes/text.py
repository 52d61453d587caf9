"""Expressions as text: what binds how tightly, and when parentheses are needed."""

from __future__ import annotations

import ast
from enum import IntEnum
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.fixes.plan import Ground, Refused

if TYPE_CHECKING:
    from torchmemlint.flow.units import Unit


class Shape(IntEnum):
    """How an expression may be placed without parentheses."""

    PRIMARY = 0  # anywhere: names, calls, displays, anything in parentheses
    LOOSE = 1  # where a whole expression is expected: an argument, a right-hand side, an element
    BARE = 2  # nowhere: tuples, yields, assignment expressions, generators without parentheses


_PRIMARY = (
    cst.Name,
    cst.Attribute,
    cst.Call,
    cst.Subscript,
    cst.BaseList,
    cst.BaseSet,
    cst.BaseDict,
    cst.SimpleString,
    cst.FormattedString,
    cst.Ellipsis,
)
_BARE = (cst.Tuple, cst.Yield, cst.NamedExpr, cst.GeneratorExp, cst.StarredElement)
_PRIMARY_AST = (
    ast.Name,
    ast.Attribute,
    ast.Call,
    ast.Subscript,
    ast.List,
    ast.ListComp,
    ast.Set,
    ast.SetComp,
    ast.Dict,
    ast.DictComp,
    ast.JoinedStr,
)
_BARE_AST = (ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Starred)


def shape(node: cst.CSTNode) -> Shape:
    """The shape of an expression's text with the parentheses it has."""
    if getattr(node, "lpar", ()) or isinstance(node, _PRIMARY):
        return Shape.PRIMARY
    return Shape.BARE if isinstance(node, _BARE) else Shape.LOOSE


def text_shape(text: str) -> Shape:
    """The shape of an expression given as text. Refused if it is none."""
    try:
        body = ast.parse(f"(\n{text}\n)", mode="eval").body
        if not isinstance(body, (ast.Yield, ast.YieldFrom)):
            ast.parse(f"[\n{text}\n]", mode="eval")  # its own brackets are closed in it
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Refused("not an expression") from None
    if isinstance(body, _BARE_AST):
        return Shape.BARE
    if isinstance(body, (ast.Tuple, ast.GeneratorExp)):
        return Shape.PRIMARY if _alone_is(text, type(body)) else Shape.BARE
    if isinstance(body, ast.Constant) and type(body.value) in (int, float, complex):
        return Shape.PRIMARY if text.lstrip().startswith("(") else Shape.LOOSE
    return Shape.PRIMARY if isinstance(body, _PRIMARY_AST) or _is_wrapped(text) else Shape.LOOSE


def _alone_is(text: str, kind: type[ast.expr]) -> bool:
    """Whether the text is such an expression even between brackets, so that its parentheses are its own."""
    try:
        body = ast.parse(f"x = [\n{text}\n, 0]").body[0]
    except SyntaxError:
        return False
    value = body.value if isinstance(body, ast.Assign) else None
    return isinstance(value, ast.List) and len(value.elts) == 2 and isinstance(value.elts[0], kind)


def _is_wrapped(text: str) -> bool:
    """Whether one pair of parentheses spans the whole text: appending an attribute must bind to all of it."""
    try:
        body = ast.parse(f"(\n{text}\n._)", mode="eval").body
        inner = ast.parse(f"(\n{text}\n)", mode="eval").body
    except SyntaxError:
        return False
    return isinstance(body, ast.Attribute) and ast.dump(body.value) == ast.dump(inner)


_LOOSE_PARENTS = (
    cst.Assign,
    cst.AnnAssign,
    cst.AugAssign,
    cst.Return,
    cst.Expr,
    cst.Index,
    cst.Element,
    cst.DictElement,
    cst.If,
    cst.While,
    cst.For,
    cst.Param,
)


def _loose_place(node: cst.CSTNode, parent: cst.CSTNode) -> bool:
    if getattr(node, "lpar", ()):
        return True
    if isinstance(parent, cst.Arg):
        return not parent.star
    return isinstance(parent, _LOOSE_PARENTS)


def fitted(ground: Ground, node: cst.CSTNode, text: str) -> str:
    """`text` as it can stand in place of `node` (inside the parentheses that the node has)."""
    kind = text_shape(text)
    in_own = bool(getattr(node, "lpar", ()))
    if kind is Shape.PRIMARY or (kind is Shape.LOOSE and _loose_place(node, ground.parent(node))):
        return text if in_own or _in_brackets(ground, node) or not _breaks(text) else f"({text})"
    return text if in_own and not text.lstrip().startswith("*") else f"({text})"


def _breaks(text: str) -> bool:
    """Whether the text has a line end that needs brackets around it."""
    if "\n" not in text:
        return False
    try:
        ast.parse(f"_ = {text}")
    except SyntaxError:
        return True
    return False


_BRACKETED = (cst.Arg, cst.SubscriptElement, cst.BaseList, cst.BaseSet, cst.BaseDict)


def _in_brackets(ground: Ground, node: cst.CSTNode) -> bool:
    """Whether brackets around the node's expression make line ends in it meaningless."""
    for above in ground.ancestors(node):
        if isinstance(above, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            return False
        if isinstance(above, _BRACKETED) or bool(getattr(above, "lpar", ())):
            return True
    return False


def bare_text(ground: Ground, node: cst.CSTNode, loose: bool = False) -> str:
    """The node's text as a primary; `loose`: as a whole expression between brackets or commas."""
    if not isinstance(node, cst.BaseExpression):
        raise Refused("not an expression")
    start, end = ground.outer(node)
    text, kind = ground.text(start, end), shape(node)
    if kind is Shape.PRIMARY and not loose and "\n" in text and _breaks(text):
        return f"({text})"
    return text if kind is Shape.PRIMARY or (loose and kind is Shape.LOOSE) else f"({text})"


def expression_text(unit: Unit, node: cst.CSTNode, *, loose: bool = False) -> str:
    """The source text of an expression, with parentheses where it needs them to be followed by `.name` or an operator;
    `loose`: to stand between brackets or commas. Raises ValueError for what is no expression of the unit."""
    try:
        return bare_text(Ground(unit), unit.twin(node), loose)
    except Refused as refused:
        raise ValueError(str(refused)) from None


_NOT_IN_F_STRINGS = frozenset("'\"\\#\n{}!")
_TARGET_PARTS = (cst.Tuple, cst.List, cst.Element, cst.StarredElement)


def refuse_unreadable(ground: Ground, node: cst.CSTNode, text: str = "") -> None:
    """Refused where `node` is bound rather than read, in a pattern or import, a part of adjoining strings, or in an
    f-string that `text` would break."""
    below, may_bind = node, True
    for above in ground.ancestors(node):
        if isinstance(above, _NOT_VALUES) or (may_bind and _binds(above, below)):
            raise Refused("a binding, not a value")
        if isinstance(above, cst.ConcatenatedString):
            raise Refused("a part of a string")
        if isinstance(above, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            return
        breaks = isinstance(above, cst.FormattedStringExpression) and (above.equal or set(text) & _NOT_IN_F_STRINGS)
        if breaks:
            raise Refused("inside an f-string")
        may_bind = may_bind and isinstance(above, _TARGET_PARTS)
        below = above


_NOT_VALUES = (
    cst.MatchPattern,
    cst.MatchKeywordElement,
    cst.MatchMappingElement,
    cst.Import,
    cst.ImportFrom,
    cst.Global,
    cst.Nonlocal,
)
_BOUND = (
    (cst.AssignTarget, "target"),
    (cst.AugAssign, "target"),
    (cst.AnnAssign, "target"),
    (cst.For, "target"),
    (cst.CompFor, "target"),
    (cst.NamedExpr, "target"),
    (cst.AsName, "name"),
    (cst.Del, "target"),
    (cst.Param, "name"),
    (cst.Arg, "keyword"),
    (cst.Attribute, "attr"),
    (cst.FunctionDef, "name"),
    (cst.ClassDef, "name"),
)


def _binds(above: cst.CSTNode, below: cst.CSTNode) -> bool:
    """Whether `below` is written to, or is a mere name, in `above`."""
    return any(isinstance(above, kind) and getattr(above, name) is below for kind, name in _BOUND)
