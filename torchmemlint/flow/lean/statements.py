"""Lean statements and blocks from those of `ast`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import libcst as cst

from torchmemlint.flow.lean.build import (
    CONVERTERS,
    Text,
    Unconvertible,
    annotation,
    attribute,
    begin,
    convert,
    finish,
    maker,
    name,
    optional,
    origin,
)
from torchmemlint.flow.lean.expressions import ASYNCHRONOUS, BINARY, tuple_of

_line = maker(cst.SimpleStatementLine, "body")
_one_line = maker(cst.SimpleStatementSuite, "body")
_block = maker(cst.IndentedBlock, "body")
_expression = maker(cst.Expr, "value")
_return = maker(cst.Return, "value")
_assign = maker(cst.Assign, "targets", "value")
_target = maker(cst.AssignTarget, "target")
_augmented = maker(cst.AugAssign, "target", "operator", "value")
_annotated = maker(cst.AnnAssign, "target", "annotation", "value")
_del = maker(cst.Del, "target")
_raise = maker(cst.Raise, "exc", "cause")
_assert = maker(cst.Assert, "test", "msg")
_pass, _break, _continue = maker(cst.Pass), maker(cst.Break), maker(cst.Continue)
_if = maker(cst.If, "test", "body", "orelse")
_else = maker(cst.Else, "body")
_for = maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")
_while = maker(cst.While, "test", "body", "orelse")
_finally = maker(cst.Finally, "body")
_with = maker(cst.With, "items", "body", "asynchronous")
_item = maker(cst.WithItem, "item", "asname")
_as = maker(cst.AsName, "name")
_import = maker(cst.Import, "names")
_import_from = maker(cst.ImportFrom, "module", "names", "relative")
_alias = maker(cst.ImportAlias, "name", "asname")
_everything = maker(cst.ImportStar)
_global, _nonlocal = maker(cst.Global, "names"), maker(cst.Nonlocal, "names")
_shared_name = maker(cst.NameItem, "name")
_integer = maker(cst.Integer, "value")
_DOT = cst.Dot()
_AUGMENTED: dict[type, cst.BaseAugOp] = {
    kind: getattr(cst, f"{type(operator).__name__}Assign")() for kind, operator in BINARY.items()
}
COMPOUND = frozenset(
    getattr(ast, kind)
    for kind in "If For AsyncFor While Try TryStar With AsyncWith FunctionDef AsyncFunctionDef ClassDef Match".split()
    if hasattr(ast, kind)
)


# -- blocks -----------------------------------------------------------------------------------------------------------


def statements(text: Text, body: Sequence[ast.stmt]) -> tuple[Any, ...]:
    """The statements of a block; small ones on one line are one."""
    found: list[Any] = []
    line: list[Any] = []
    row: int | None = 0
    for node in body:
        if type(node) in COMPOUND:
            row = 0
            found.append(CONVERTERS[type(node)](text, node))
            continue
        if node.lineno != row:
            line = []
            found.append(line)
        line.append(CONVERTERS[type(node)](text, node))
        row = node.end_lineno
    return tuple([_line(tuple(item)) if type(item) is list else item for item in found])


def suite(text: Text, body: Sequence[ast.stmt]) -> Any:
    """The block under a header, or the small statements behind its colon."""
    first = body[0]
    if type(first) not in COMPOUND and text.lines[first.lineno - 1][: first.col_offset].strip():
        return _one_line(tuple([CONVERTERS[type(node)](text, node) for node in body]))
    return _block(statements(text, body))


def guarded(body: tuple[Any, ...]) -> tuple[Any, ...]:
    """The statements within `if 1:`."""
    return (_if(_integer("1"), _block(body), None),)


def _otherwise(text: Text, body: Sequence[ast.stmt]) -> Any:
    return _else(suite(text, body)) if body else None


# -- small statements -------------------------------------------------------------------------------------------------


def _assigned(text: Text, node: ast.Assign) -> Any:
    targets = tuple([_target(convert(text, target)) for target in node.targets])
    return _assign(targets, convert(text, node.value))


def _with_hint(text: Text, node: ast.AnnAssign) -> Any:
    if begin(node) != begin(node.target):
        raise Unconvertible("an annotated target in parentheses, which libcst can't read")
    hint = convert(text, node.annotation)
    text.quoted[hint] = text.of(node.annotation)
    return _annotated(convert(text, node.target), annotation(hint), optional(text, node.value))


def _changed(text: Text, node: ast.AugAssign) -> Any:
    return _augmented(convert(text, node.target), _AUGMENTED[type(node.op)], convert(text, node.value))


def _deleted(text: Text, node: ast.Delete) -> Any:
    only = node.targets[0] if len(node.targets) == 1 else None
    comma = only is not None and finish(only) != finish(node) and text.of(node).endswith(b",")
    return _del(tuple_of(text, node.targets) if only is None or comma else convert(text, only))


def _raised(text: Text, node: ast.Raise) -> Any:
    cause = None if node.cause is None else origin(convert(text, node.cause))
    return _raise(optional(text, node.exc), cause)


def _dotted(path: str) -> Any:
    first, *others = path.split(".")
    tree = name(first)
    for other in others:
        tree = attribute(tree, name(other))
    return tree


def _aliases(nodes: Sequence[ast.alias]) -> tuple[Any, ...]:
    return tuple([_alias(_dotted(n.name), None if n.asname is None else _as(name(n.asname))) for n in nodes])


def _imported_from(text: Text, node: ast.ImportFrom) -> Any:
    names = _everything() if node.names[0].name == "*" else _aliases(node.names)
    module = None if node.module is None else _dotted(node.module)
    return _import_from(module, names, (_DOT,) * node.level)


def _scope(make: Any) -> Any:
    return lambda text, node: make(tuple([_shared_name(name(shared)) for shared in node.names]))


# -- compound statements ----------------------------------------------------------------------------------------------


def _branch(text: Text, node: ast.If) -> Any:
    below = node.orelse
    test, body = convert(text, node.test), suite(text, node.body)
    if len(below) == 1 and type(below[0]) is ast.If:
        inner = below[0]
        if text.lines[inner.lineno - 1].startswith(b"elif", inner.col_offset):
            return _if(test, body, _branch(text, inner))
    return _if(test, body, _otherwise(text, below))


def _loop(text: Text, node: ast.For | ast.AsyncFor) -> Any:
    return _for(
        convert(text, node.target),
        convert(text, node.iter),
        suite(text, node.body),
        _otherwise(text, node.orelse),
        ASYNCHRONOUS if isinstance(node, ast.AsyncFor) else None,
    )


def _repeated(text: Text, node: ast.While) -> Any:
    return _while(convert(text, node.test), suite(text, node.body), _otherwise(text, node.orelse))


def _trial(kind: type, handler: type) -> Any:
    make = maker(kind, "body", "handlers", "orelse", "finalbody")
    make_handler = maker(handler, "body", "type", "name")

    def handled(text: Text, node: ast.ExceptHandler) -> Any:
        caught = optional(text, node.type)
        if type(node.type) is ast.Tuple and not text.of(node.type).startswith(b"("):
            raise Unconvertible("several exceptions without parentheses")
        bound = None if node.name is None else _as(name(node.name))
        made = make_handler(suite(text, node.body), caught, bound)
        text.quoted[made] = text.of(node)
        if node.type is not None:
            text.quoted[caught] = text.of(node.type)
        return made

    def tried(text: Text, node: ast.Try) -> Any:
        return make(
            suite(text, node.body),
            tuple([handled(text, part) for part in node.handlers]),
            _otherwise(text, node.orelse),
            _finally(suite(text, node.finalbody)) if node.finalbody else None,
        )

    return tried


def _entered(text: Text, node: ast.With | ast.AsyncWith) -> Any:
    items = []
    for item in node.items:
        bound = None if item.optional_vars is None else _as(convert(text, item.optional_vars))
        items.append(_item(convert(text, item.context_expr), bound))
    return _with(tuple(items), suite(text, node.body), ASYNCHRONOUS if isinstance(node, ast.AsyncWith) else None)


CONVERTERS |= {
    ast.Expr: lambda text, node: _expression(convert(text, node.value)),
    ast.Return: lambda text, node: _return(optional(text, node.value)),
    ast.Assign: _assigned,
    ast.AnnAssign: _with_hint,
    ast.AugAssign: _changed,
    ast.Delete: _deleted,
    ast.Raise: _raised,
    ast.Assert: lambda text, node: _assert(convert(text, node.test), optional(text, node.msg)),
    ast.Pass: lambda text, node: _pass(),
    ast.Break: lambda text, node: _break(),
    ast.Continue: lambda text, node: _continue(),
    ast.Import: lambda text, node: _import(_aliases(node.names)),
    ast.ImportFrom: _imported_from,
    ast.Global: _scope(_global),
    ast.Nonlocal: _scope(_nonlocal),
    ast.If: _branch,
    ast.For: _loop,
    ast.AsyncFor: _loop,
    ast.While: _repeated,
    ast.Try: _trial(cst.Try, cst.ExceptHandler),
    ast.With: _entered,
    ast.AsyncWith: _entered,
}
if hasattr(ast, "TryStar"):
    CONVERTERS[ast.TryStar] = _trial(cst.TryStar, cst.ExceptStarHandler)
