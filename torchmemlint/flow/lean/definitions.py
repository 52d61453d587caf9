"""Lean functions, lambdas and classes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import libcst as cst

from torchmemlint.flow.lean.build import CONVERTERS, Text, Unconvertible, annotation, convert, maker, name, optional
from torchmemlint.flow.lean.expressions import ASYNCHRONOUS, arguments
from torchmemlint.flow.lean.statements import suite

_function = maker(cst.FunctionDef, "name", "params", "body", "decorators", "returns", "asynchronous", "type_parameters")
_class = maker(cst.ClassDef, "name", "body", "bases", "keywords", "decorators", "type_parameters")
_lambda = maker(cst.Lambda, "params", "body")
_decorator = maker(cst.Decorator, "decorator")
_parameters = maker(cst.Parameters, "params", "star_arg", "kwonly_params", "star_kwarg", "posonly_params")
_parameter = maker(cst.Param, "name", "annotation", "default", "star")
_STAR = cst.ParamStar()


def _annotated(text: Text, node: ast.expr | None) -> Any:
    return None if node is None else annotation(convert(text, node))


def _one(text: Text, node: ast.arg, default: ast.expr | None = None, star: str = "") -> Any:
    return _parameter(name(node.arg), _annotated(text, node.annotation), optional(text, default), star)


def _several(text: Text, nodes: Sequence[ast.arg], defaults: Sequence[ast.expr | None]) -> tuple[Any, ...]:
    return tuple([_one(text, node, default) for node, default in zip(nodes, defaults)])


def _signature(text: Text, node: ast.arguments) -> Any:
    first, others = node.posonlyargs, node.args
    missing = len(first) + len(others) - len(node.defaults)
    defaults: list[ast.expr | None] = [*[None] * missing, *node.defaults]
    star: Any = cst.MaybeSentinel.DEFAULT
    if node.vararg is not None:
        star = _one(text, node.vararg, star="*")
    elif node.kwonlyargs:
        star = _STAR
    return _parameters(
        _several(text, others, defaults[len(first) :]),
        star,
        _several(text, node.kwonlyargs, node.kw_defaults),
        None if node.kwarg is None else _one(text, node.kwarg, star="**"),
        _several(text, first, defaults),
    )


def _decorators(text: Text, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> tuple[Any, ...]:
    if getattr(node, "type_params", ()):
        raise Unconvertible("type parameters")
    return tuple([_decorator(convert(text, decorator)) for decorator in node.decorator_list])


def _defined(text: Text, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
    return _function(
        name(node.name),
        _signature(text, node.args),
        suite(text, node.body),
        _decorators(text, node),
        _annotated(text, node.returns),
        ASYNCHRONOUS if isinstance(node, ast.AsyncFunctionDef) else None,
        None,
    )


def _classed(text: Text, node: ast.ClassDef) -> Any:
    given = arguments(text, node.bases, node.keywords)
    first = next((i for i, arg in enumerate(given) if arg.star == "**" or arg.keyword is not None), len(given))
    if any(arg.star == "*" or (arg.keyword is None and not arg.star) for arg in given[first:]):
        raise Unconvertible("a base behind a keyword, which libcst can't read")
    body = suite(text, node.body)
    return _class(name(node.name), body, given[:first], given[first:], _decorators(text, node), None)


CONVERTERS |= {
    ast.FunctionDef: _defined,
    ast.AsyncFunctionDef: _defined,
    ast.ClassDef: _classed,
    ast.Lambda: lambda text, node: _lambda(_signature(text, node.args), convert(text, node.body)),
}
