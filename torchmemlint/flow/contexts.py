"""Grad-mode contexts: no_grad and its kin as values, entered by `with`, left again."""

from __future__ import annotations

import libcst as cst

from torchmemlint.flow.dispatch import evaluate
from torchmemlint.flow.frame import Frame
from torchmemlint.flow.graph import Argument, Mode
from torchmemlint.flow.values import HOST, Fact, Kind, Value, replace

EFFECTS = {"off": Mode.OFF, "on": Mode.ON, "unknown": Mode.UNKNOWN}


def context(f: Frame, node: cst.Call, effect: str, dotted_name: str, args: list[Argument]) -> Value:
    """The context object that calling `torch.no_grad()` or the like gives; `set_grad_enabled(x)` acts at once."""
    if effect == "argument":
        flag = args[0].value.const if args else None
        effect = "unknown" if not isinstance(flag, bool) else "on" if flag else "off"
        op = f.op(
            "context",
            node,
            Value(kind=Kind.EXTERNAL, graph=Fact.NO, name="context", const=effect),
            callee=dotted_name,
            arguments=args,
        )
        f.state.mode = EFFECTS[effect]
        return op.value
    wrapped = args[0].value if args else None
    if wrapped is not None and wrapped.kind is Kind.FUNCTION:  # torch.no_grad()(fn) and torch.no_grad(fn)
        return wrapped
    op = f.op(
        "context", node, Value(kind=Kind.EXTERNAL, graph=Fact.NO, name="context", const=effect), callee=dotted_name
    )
    return op.value


def wrap(f: Frame, node: cst.Call, guard: Value, args: list[Argument]) -> Value:
    """`torch.no_grad()(fn)`: the function, which runs under the guard."""
    return f.op("guarded", node, args[0].value, receiver=guard, arguments=args).value


def apply_effect(f: Frame, value: Value) -> None:
    """Enter a context value."""
    mode = EFFECTS.get(str(value.const))
    if mode is not None:
        f.state.mode = mode


def enter(f: Frame, item: cst.BaseExpression) -> Value:
    """Evaluate and enter the context manager of a `with` item; gives what `as` binds."""
    before = f.state.mode
    value = evaluate(f, item)
    if value.name == "context":
        f.state.mode = before
        apply_effect(f, value)
        f.op("enter", item, HOST, receiver=value, passes=False)
        return HOST
    if any(op.name == "context" for op in value.defs):  # one of several contexts
        f.op("enter", item, HOST, receiver=value, passes=False)
        f.state.mode = Mode.UNKNOWN
        return HOST
    if value.kind is Kind.EXTERNAL and value.name is not None and f.program.effect(value.name) is not None:
        f.op("enter", item, HOST, receiver=value, passes=False)  # `with torch.no_grad:` never entered
        return HOST
    if value.name == "handle":
        f.op("enter", item, HOST, receiver=value, passes=False)
    mode = f.program.entered_mode(value)
    f.state.mode = mode if mode is not None else f.state.mode
    if value.kind in (Kind.INSTANCE, Kind.MODULE):
        return value
    return replace(value, const=None)


def leave(f: Frame, mode: Mode) -> None:
    """Leave a `with` block: the mode before it is restored."""
    f.state.mode = mode
