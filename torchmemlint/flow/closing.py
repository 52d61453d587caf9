"""The events of a finished function: what each holder kept, where each forward ended, how each operator was used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.events import Event, ForwardClosed, FunctionClosed, GradContextMisused, HolderClosed, OpClosed
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Mode, Op, Sink, Store, closure, fact
from torchmemlint.flow.values import Fact, Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

LOCAL = frozenset({"literal.list", "literal.dict", "literal.set", "comprehension", "?call", "read", "copy", "construct"})
ARITHMETIC = frozenset({"arith", "torch.add", "torch.add_", "torch.mul", "torch.lerp", "torch.sub", "torch.div"})


def events(flow: FunctionFlow) -> Iterator[Event]:
    """All events of a function, in the order of its operations."""
    forwards: list[ForwardClosed] = []
    for op in flow.ops:
        yield OpClosed(flow, op)
        if op.stores:
            yield from _holder(flow, op)
        if op.kept:
            yield from _kept_by_callee(flow, op)
        if op.name in ARITHMETIC and op.loops:
            yield from _accumulator(flow, op)
        if op.name == "module":
            forwards += _forward(flow, op)
    yield from _contexts(flow)
    yield from forwards
    yield FunctionClosed(flow, forwards)


# -- holders --------------------------------------------------------------------------------------------------------


def _holder(flow: FunctionFlow, holder: Op) -> Iterator[HolderClosed]:
    kind = holder_kind(flow, holder)
    stores = [s for s in holder.stores if fact(s.value) is not Fact.NO and s.value.kind is not Kind.HOST]
    if kind == "container":
        stores = [s for s in stores if outlives(holder, s)]
    if not stores or kind is None:
        return
    name = holder.path or stores[0].op.path or _bound_name(holder)
    sinks = _holder_sinks(flow, holder, kind)
    yield HolderClosed(flow, holder, name, kind, stores, sinks, _cleared(flow, stores, name))


def holder_kind(flow: FunctionFlow, holder: Op) -> str | None:
    """What sort of holder an operation with stores is; None for a parameter (its callers are told)."""
    if holder.name == "load" and holder.path is not None:
        root = holder.path.partition(".")[0]
        if "." in holder.path and not _is_global_object(holder):
            return "attribute"
        return "global" if root not in {p.name for p in flow.info.parameters} else None
    return "container" if holder.name in LOCAL else None


def _is_global_object(holder: Op) -> bool:
    return holder.receiver is not None and holder.receiver.kind in (Kind.CLASS, Kind.FUNCTION)


def outlives(holder: Op, store: Store) -> bool:
    """Is the store in a loop that the holder was made outside of?"""
    inner, outer = store.op.loops, holder.loops
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def _bound_name(holder: Op) -> str:
    names = [user.path for user in holder.uses if user.name in ("bind", "store") and user.path]
    return names[0] if names else "the list"


def _holder_sinks(flow: FunctionFlow, holder: Op, kind: str) -> frozenset[Sink]:
    own = flow.program.callers.sinks(flow, holder)
    if kind in ("attribute", "global") and holder.path is not None:
        attribute = holder.path.rpartition(".")[2]
        own |= flow.program.callers.attribute_sinks(flow.info.path, attribute)
        return own - {Sink.ATTRIBUTE, Sink.GLOBAL}
    return own


def _cleared(flow: FunctionFlow, stores: list[Store], name: str) -> bool:
    """Is the holder emptied, deleted or bound anew inside the loop or call in which it is filled?"""
    loops = max(len(s.op.loops) for s in stores)
    filling = {s.op for s in stores}
    for op in flow.named("clear", "del", "store", "bind"):
        if op.path == name and len(op.loops) >= loops and op not in filling:
            if op.name in ("clear", "del") or op.value.kind in (Kind.CONTAINER, Kind.HOST):
                return True
    return False


def _kept_by_callee(flow: FunctionFlow, call: Op) -> Iterator[HolderClosed]:
    """A project function that leaves its argument in an object, a container argument or a global."""
    for kept, holder, arguments in call.kept:
        stores = [Store(call, a.value, a.node, kept.how) for a in arguments if fact(a.value) is not Fact.NO]
        if not stores or (holder is not None and _forgotten(call, holder.value.defs)):
            continue
        path = flow.program.path_of(holder)
        attribute = kept.path.partition(".")[2]
        if holder is not None and not attribute:
            continue  # a container argument: the caller's holder has the store itself
        sinks = flow.program.callers.attribute_sinks(flow.info.path, attribute.rpartition(".")[2]) if attribute else frozenset()
        name = f"{path}.{attribute}" if path and attribute else kept.path
        maker = holder.value.defs[0] if holder is not None and holder.value.defs else call
        yield HolderClosed(flow, maker, name, "attribute" if attribute else "global", stores, sinks - {Sink.ATTRIBUTE},
                           by_callee=True)


def _forgotten(call: Op, makers: tuple[Op, ...]) -> bool:
    """Is the object that keeps made anew in each iteration of the call's loop?"""
    return bool(makers) and all(m.loops == call.loops and m.name == "construct" for m in makers) and bool(call.loops)


# -- running totals -------------------------------------------------------------------------------------------------


def _accumulator(flow: FunctionFlow, op: Op) -> Iterator[HolderClosed]:
    """`total = total + x`: arithmetic that comes round to itself through the loop."""
    if not _outermost(op):
        return
    cycle = _cycle(op)
    if cycle is None:
        return
    added = [a for member in cycle for a in (member.arguments or []) if not any(d in cycle for d in a.value.defs)]
    added = [a for a in added if not _depends_on(a.value, op)]
    stores = [Store(op, a.value, a.node, "accumulate") for a in added if fact(a.value) is not Fact.NO
              and a.value.kind is not Kind.HOST]
    name = next((u.path for u in op.uses if u.name in ("bind", "store") and u.path), None)
    if not stores or name is None or Kind.CONTAINER in (s.value.kind for s in stores):
        return
    yield HolderClosed(flow, op, name, "accumulator", stores, flow.program.callers.sinks(flow, op))


def _depends_on(value: Value, op: Op) -> bool:
    """Is `value` itself computed from the total? Then it is a recurrence, not a sum."""
    return op in set(closure(value.defs, lambda o: o.inputs if o.passes else ()))


def _outermost(op: Op) -> bool:
    """Does a name or attribute hold the result directly?"""
    return any(user.name in ("bind", "store") for user in op.uses)


def _cycle(op: Op) -> set[Op] | None:
    """The arithmetic operations on a way from `op` back to itself; None where there is none."""
    ahead = set(closure(op.uses, lambda o: o.uses if o.name in ARITHMETIC else ()))
    if op.carried:
        return {op}
    if op not in ahead:
        return None
    behind = set(closure([op], lambda o: o.inputs if o.name in ARITHMETIC else ()))
    return {o for o in ahead & behind if o.name in ARITHMETIC}


# -- forwards -------------------------------------------------------------------------------------------------------


def _forward(flow: FunctionFlow, op: Op) -> Iterator[ForwardClosed]:
    if op.mode is Mode.OFF or op.receiver is None or op.receiver.trainable is Fact.NO or fact(op.value) is Fact.NO:
        return
    yield ForwardClosed(flow, op, flow.program.callers.sinks(flow, op), _evaluates(flow, op))


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
