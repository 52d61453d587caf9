"""The events of a finished function: what each holder kept, where each forward ended, how each operator was used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.events import Event, ForwardClosed, FunctionClosed, GradContextMisused, OpClosed
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Op, fact
from torchmemlint.flow.keeping import kept, runs_with_grad
from torchmemlint.flow.values import Fact, Kind

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow


def events(flow: FunctionFlow) -> Iterator[Event]:
    """All events of a function, in the order of its operations."""
    forwards: list[ForwardClosed] = []
    for op in flow.ops:
        yield OpClosed(flow, op)
        yield from kept(flow, op)
        if op.name == "module":
            forwards += _forward(flow, op)
    yield from _contexts(flow)
    yield from forwards
    yield FunctionClosed(flow, forwards)


# -- forwards -------------------------------------------------------------------------------------------------------


def _forward(flow: FunctionFlow, op: Op) -> Iterator[ForwardClosed]:
    if not runs_with_grad(flow, op) or op.receiver is None or op.receiver.trainable is Fact.NO or fact(op.value) is Fact.NO:
        return
    yield ForwardClosed(flow, op, flow.program.callers.far_sinks(flow, op), _evaluates(flow, op))


def _evaluates(flow: FunctionFlow, op: Op) -> bool:
    """Was the module, or one it is part of, put into eval mode before, and not back into train mode?"""
    path = op.path or ""
    switched = False
    for other in flow.named("eval", "train", "call", "argument"):
        if other.order > op.order or not other.path or not (path == other.path or path.startswith(other.path + ".")):
            continue
        if other.name == "eval":
            switched = True
        elif other.name == "train":
            flag = other.argument(0, "mode")
            switched = flag is not None and flag.value.const is False
    return switched


# -- grad-mode contexts -----------------------------------------------------------------------------------------------


def _contexts(flow: FunctionFlow) -> Iterator[GradContextMisused]:
    for op in flow.named("context"):
        expression = op.statement
        if op.callee is not None and op.callee.endswith("set_grad_enabled"):
            continue
        if not op.uses and getattr(expression, "value", None) is op.node and _is_bare(expression):
            yield GradContextMisused(flow, op, "bare statement")
        elif op.uses and all(user.name == "bind" for user in op.uses):
            yield GradContextMisused(flow, op, "never entered")
    yield from _on_coroutine(flow)
    for op in flow.named("enter"):
        value = op.receiver
        if value is not None and value.kind is Kind.EXTERNAL and value.name != "context" and dotted(op.node) is not None:  # type: ignore[arg-type]
            yield GradContextMisused(flow, op, "not called")


def _on_coroutine(flow: FunctionFlow) -> Iterator[GradContextMisused]:
    """A grad-mode decorator on an `async def` is left before the body runs."""
    if not flow.info.is_async or isinstance(flow.node, cst.Module):
        return
    for text, decorator in zip(flow.info.decorators, flow.node.decorators):
        if flow.program.effect(text) in ("off", "on"):
            yield GradContextMisused(flow, Op("decorator", decorator, flow.unit), "async function")


def _is_bare(statement: object) -> bool:
    return type(statement).__name__ == "Expr"
