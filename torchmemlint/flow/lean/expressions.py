"""Lean expressions from those of `ast`."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

import libcst as cst

from torchmemlint.flow.lean import strings
from torchmemlint.flow.lean.build import (
    CONVERTERS,
    Text,
    Unconvertible,
    argument,
    attribute,
    begin,
    convert,
    element,
    finish,
    maker,
    name,
    optional,
    origin,
    starred,
)

_integer = maker(cst.Integer, "value")
_float = maker(cst.Float, "value")
_imaginary = maker(cst.Imaginary, "value")
_ellipsis = maker(cst.Ellipsis)
_call = maker(cst.Call, "func", "args")
_subscript = maker(cst.Subscript, "value", "slice")
_subscript_element = maker(cst.SubscriptElement, "slice")
_index = maker(cst.Index, "value", "star")
_slice = maker(cst.Slice, "lower", "upper", "step")
_binary = maker(cst.BinaryOperation, "left", "operator", "right")
_boolean = maker(cst.BooleanOperation, "left", "operator", "right")
_unary = maker(cst.UnaryOperation, "operator", "expression")
_comparison = maker(cst.Comparison, "left", "comparisons")
_compared = maker(cst.ComparisonTarget, "operator", "comparator")
_conditional = maker(cst.IfExp, "test", "body", "orelse")
_tuple = maker(cst.Tuple, "elements")
_list = maker(cst.List, "elements")
_set = maker(cst.Set, "elements")
_dict = maker(cst.Dict, "elements")
_pair = maker(cst.DictElement, "key", "value")
_merged = maker(cst.StarredDictElement, "value")
_clause = maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in", "asynchronous")
_condition = maker(cst.CompIf, "test")
_dict_comprehension = maker(cst.DictComp, "key", "value", "for_in")
_walrus = maker(cst.NamedExpr, "target", "value")
_await = maker(cst.Await, "expression")
_yield = maker(cst.Yield, "value")
ASYNCHRONOUS = cst.Asynchronous()

BINARY: dict[type, cst.BaseBinaryOp] = {
    ast.Add: cst.Add(),
    ast.Sub: cst.Subtract(),
    ast.Mult: cst.Multiply(),
    ast.Div: cst.Divide(),
    ast.FloorDiv: cst.FloorDivide(),
    ast.Mod: cst.Modulo(),
    ast.Pow: cst.Power(),
    ast.MatMult: cst.MatrixMultiply(),
    ast.LShift: cst.LeftShift(),
    ast.RShift: cst.RightShift(),
    ast.BitOr: cst.BitOr(),
    ast.BitXor: cst.BitXor(),
    ast.BitAnd: cst.BitAnd(),
}
_BOOLEAN: dict[type, cst.BaseBooleanOp] = {ast.And: cst.And(), ast.Or: cst.Or()}
_UNARY: dict[type, cst.BaseUnaryOp] = {
    ast.Not: cst.Not(),
    ast.USub: cst.Minus(),
    ast.UAdd: cst.Plus(),
    ast.Invert: cst.BitInvert(),
}
_COMPARISONS: dict[type, cst.BaseCompOp] = {
    ast.Eq: cst.Equal(),
    ast.NotEq: cst.NotEqual(),
    ast.Lt: cst.LessThan(),
    ast.LtE: cst.LessThanEqual(),
    ast.Gt: cst.GreaterThan(),
    ast.GtE: cst.GreaterThanEqual(),
    ast.Is: cst.Is(),
    ast.IsNot: cst.IsNot(),
    ast.In: cst.In(),
    ast.NotIn: cst.NotIn(),
}


def _name(text: Text, node: ast.Name) -> Any:
    return name(node.id)


def _attribute(text: Text, node: ast.Attribute) -> Any:
    return attribute(CONVERTERS[type(node.value)](text, node.value), name(node.attr))


def _constant(text: Text, node: ast.Constant) -> Any:
    value: Any = node.value
    kind = type(value)
    if kind is str or kind is bytes:
        return strings.literal(text, node)
    if kind is int:
        return _integer(_number(text, node))
    if kind is float and math.isfinite(value):
        return _float(repr(value))
    if kind is complex and math.isfinite(value.imag):
        return _imaginary(repr(value))
    if value is None or kind is bool:
        return name(str(value))
    if value is Ellipsis:
        return _ellipsis()
    raise Unconvertible(repr(value))


def _number(text: Text, node: ast.Constant) -> str:
    try:
        return repr(node.value)
    except ValueError:  # too many digits for Python to write
        raise Unconvertible("a number") from None


def _star(text: Text, node: ast.Starred) -> Any:
    return starred(CONVERTERS[type(node.value)](text, node.value))


def arguments(text: Text, plain: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> tuple[Any, ...]:
    """The arguments of a call, or bases of a class, in the order they are written."""
    if not keywords:
        return tuple([_argument(text, node) for node in plain])
    if not plain or begin(plain[-1]) < begin(keywords[0]):
        return (*[_argument(text, node) for node in plain], *[_keyword(text, node) for node in keywords])
    both: list[Any] = sorted([*plain, *keywords], key=begin)
    return tuple([_keyword(text, n) if isinstance(n, ast.keyword) else _argument(text, n) for n in both])


def _argument(text: Text, node: ast.expr) -> Any:
    if type(node) is ast.Starred:
        return argument(CONVERTERS[type(node.value)](text, node.value), None, "*")
    return argument(CONVERTERS[type(node)](text, node), None, "")


def _keyword(text: Text, node: ast.keyword) -> Any:
    value = CONVERTERS[type(node.value)](text, node.value)
    return argument(value, None, "**") if node.arg is None else argument(value, name(node.arg), "")


def _called(text: Text, node: ast.Call) -> Any:
    return _call(CONVERTERS[type(node.func)](text, node.func), arguments(text, node.args, node.keywords))


def _subscripted(text: Text, node: ast.Subscript) -> Any:
    inner: Any = node.slice
    several = type(inner) is ast.Tuple and not _in_parentheses(text, inner)
    parts = inner.elts if several else [inner]
    value = CONVERTERS[type(node.value)](text, node.value)
    return _subscript(value, tuple([_subscript_element(_slice_part(text, part)) for part in parts]))


def _slice_part(text: Text, node: ast.expr) -> Any:
    if type(node) is ast.Slice:
        return _slice(optional(text, node.lower), optional(text, node.upper), optional(text, node.step))
    if type(node) is ast.Starred:
        return _index(convert(text, node.value), "*")
    return _index(CONVERTERS[type(node)](text, node), None)


def _in_parentheses(text: Text, node: ast.Tuple) -> bool:
    """Has the tuple parentheses of its own? Its first element may have some, too: `x[(a), b]`."""
    if not node.elts:
        return True
    first, start, end = node.elts[0], begin(node), finish(node)
    if start == begin(first) or any(type(e) is ast.Slice for e in node.elts) or finish(node.elts[-1]) == end:
        return False
    following = begin(node.elts[1]) if len(node.elts) > 1 else end
    before, behind = text.between(start, begin(first)), text.between(finish(first), following)
    if text.blind or b"#" in before + behind:
        raise Unconvertible("a tuple as index")
    return before.count(b"(") > behind.partition(b",")[0].count(b")")


def _operation(text: Text, node: ast.BinOp) -> Any:
    left, right = node.left, node.right
    return _binary(CONVERTERS[type(left)](text, left), BINARY[type(node.op)], CONVERTERS[type(right)](text, right))


def _logic(text: Text, node: ast.BoolOp) -> Any:
    operator = _BOOLEAN[type(node.op)]
    first, *others = node.values
    tree = convert(text, first)
    for other in others:
        tree = _boolean(tree, operator, convert(text, other))
    return tree


def _signed(text: Text, node: ast.UnaryOp) -> Any:
    return _unary(_UNARY[type(node.op)], convert(text, node.operand))


def _compare(text: Text, node: ast.Compare) -> Any:
    left = convert(text, node.left)
    pairs = zip(node.ops, node.comparators)
    return _comparison(left, tuple([_compared(_COMPARISONS[type(op)], convert(text, c)) for op, c in pairs]))


def _choice(text: Text, node: ast.IfExp) -> Any:
    return _conditional(convert(text, node.test), convert(text, node.body), convert(text, node.orelse))


def _elements(text: Text, nodes: Sequence[ast.expr]) -> tuple[Any, ...]:
    return tuple([_star(text, n) if type(n) is ast.Starred else element(convert(text, n)) for n in nodes])


def tuple_of(text: Text, nodes: Sequence[ast.expr]) -> Any:
    """A tuple of these expressions."""
    return _tuple(_elements(text, nodes))


def _mapping(text: Text, node: ast.Dict) -> Any:
    pairs = zip(node.keys, node.values)
    return _dict(
        tuple([_merged(convert(text, v)) if k is None else _pair(convert(text, k), convert(text, v)) for k, v in pairs])
    )


def _clauses(text: Text, generators: Sequence[ast.comprehension]) -> Any:
    inner = None
    for clause in reversed(generators):
        conditions = tuple([_condition(convert(text, test)) for test in clause.ifs])
        waiting = ASYNCHRONOUS if clause.is_async else None
        inner = _clause(convert(text, clause.target), convert(text, clause.iter), conditions, inner, waiting)
    return inner


def _comprehension(kind: type) -> Any:
    make = maker(kind, "elt", "for_in")
    return lambda text, node: make(convert(text, node.elt), _clauses(text, node.generators))


def _pairs_comprehension(text: Text, node: ast.DictComp) -> Any:
    return _dict_comprehension(convert(text, node.key), convert(text, node.value), _clauses(text, node.generators))


CONVERTERS |= {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Constant: _constant,
    ast.Starred: _star,
    ast.Call: _called,
    ast.Subscript: _subscripted,
    ast.BinOp: _operation,
    ast.BoolOp: _logic,
    ast.UnaryOp: _signed,
    ast.Compare: _compare,
    ast.IfExp: _choice,
    ast.Tuple: lambda text, node: _tuple(_elements(text, node.elts)),
    ast.List: lambda text, node: _list(_elements(text, node.elts)),
    ast.Set: lambda text, node: _set(_elements(text, node.elts)),
    ast.Dict: _mapping,
    ast.ListComp: _comprehension(cst.ListComp),
    ast.SetComp: _comprehension(cst.SetComp),
    ast.GeneratorExp: _comprehension(cst.GeneratorExp),
    ast.DictComp: _pairs_comprehension,
    ast.NamedExpr: lambda text, node: _walrus(convert(text, node.target), convert(text, node.value)),
    ast.Await: lambda text, node: _await(convert(text, node.value)),
    ast.Yield: lambda text, node: _yield(optional(text, node.value)),
    ast.YieldFrom: lambda text, node: _yield(origin(convert(text, node.value))),
}
