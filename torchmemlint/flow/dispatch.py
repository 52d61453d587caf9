"""The interpreter's tables: which function handles which node type and which kind of callee.

The handlers' modules fill them when imported; going through the tables lets them call each other without importing
each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from torchmemlint.flow.frame import Closure, Frame, dotted
from torchmemlint.flow.graph import Argument, Sink
from torchmemlint.flow.units import own_parameters
from torchmemlint.flow.values import UNKNOWN, Fact, Kind, Value, replace

Invoke = Callable[[Frame, cst.Call, Value, list[Argument]], Value]
Body = cst.BaseSuite | Sequence[cst.BaseStatement | cst.BaseSmallStatement]

EXPRESSIONS: dict[type, Callable[[Frame, Any], Value]] = {}
STATEMENTS: dict[type, Callable[[Frame, Any], None]] = {}
INVOKE: dict[Kind, Invoke] = {}


def evaluate(f: Frame, node: cst.CSTNode) -> Value:
    """The abstract value of an expression; unknown forms give UNKNOWN."""
    handler = EXPRESSIONS.get(type(node))
    return handler(f, node) if handler is not None else UNKNOWN


def run(f: Frame, body: Body) -> None:
    """Interpret a block up to where it is left."""
    statements: Sequence[Any] = getattr(body, "body", body)  # type: ignore[arg-type]
    for statement in statements:
        if not f.state.alive:
            return
        handler = STATEMENTS.get(type(statement))
        if handler is not None:
            if type(statement) is not cst.SimpleStatementLine:
                f.statement = statement
            handler(f, statement)


def invoke(f: Frame, node: cst.Call, callee: Value, args: list[Argument]) -> Value:
    """Call a value."""
    if callee.given:
        callee, args = replace(callee, given=()), [*callee.given, *args]
    return INVOKE.get(callee.kind, INVOKE[Kind.UNKNOWN])(f, node, callee, args)


def unknown(f: Frame, node: cst.Call, args: Sequence[Argument], callee: Value | None = None) -> Value:
    """A call of code that we can't see: it may keep or consume what it is given, and may return anything."""
    value = Value(graph=Fact.MAYBE)
    op = f.op(
        "?call",
        node,
        value,
        arguments=args,
        receiver=callee,
        sunk=[Sink.UNKNOWN_CALL],
        callee=dotted(node.func),
        path=dotted(node.func),
    )
    return op.value


def nested(f: Frame, node: cst.FunctionDef | cst.Lambda) -> Value:
    """A nested function: it keeps what its defaults hold, as long as it lives."""
    parameters = own_parameters(node.params)
    defaults = {p.name.value: evaluate(f, p.default) for p in parameters if p.default is not None}
    graph, deciding = f.derived(defaults.values())
    value = Value(kind=Kind.FUNCTION, graph=graph, params=deciding, const=node)
    op = f.op("function", node, value, inputs=defaults.values())
    f.closures[node] = Closure(node, op, f.state.mode, defaults, getattr(f.closures.get(node), "calls", 0))
    return op.value
