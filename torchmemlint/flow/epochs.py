"""What a framework keeps of the results of a method that it runs once a batch, until the epoch ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmemlint.flow.batches import epoch_end
from torchmemlint.flow.collecting import NESTING, OUTPUTS, End, becomes, reduces, small, through
from torchmemlint.flow.graph import Op, Sink, closure
from torchmemlint.flow.lifetimes import applied_flow
from torchmemlint.flow.values import Kind, Value, known_members

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.index.model import FunctionInfo

AWAY = frozenset({Sink.UNKNOWN_CALL, Sink.RETURNED, Sink.YIELDED, Sink.ATTRIBUTE, Sink.GLOBAL})


def returned_for_epoch(flow: FunctionFlow, op: Op) -> Iterator[tuple[str, End, FunctionInfo]]:
    """What a return statement leaves with the framework for the end of the epoch at full size: how it is called, what
    becomes of it there."""
    end = epoch_end(flow)
    for key, value in _returned(flow, op) if end is not None else ():
        if end is None or not _at_full_size(flow, value):
            continue
        name = f"`{key}`" if key else "the result"
        if _unread(flow, end, key):
            yield name, End.UNREAD, end
            continue
        inner = flow.program.flow(end)
        results = [o for o in inner.named("param") if o.path == end.parameters[1].name] if inner is not None else []
        fate = becomes(inner, [u for o in results for u in o.uses], 1) if inner is not None else End.UNKNOWN
        yield name, fate, end


def _at_full_size(flow: FunctionFlow, value: Value, depth: int = NESTING) -> bool:
    """Is it computed by a forward from a batch, at full size, and still on its device? The framework detaches it."""
    if value.kind is Kind.HOST or small(value) or value.device == "cpu" or not depth:
        return False
    given = _given(flow, value)
    if given is not None:
        return _at_full_size(*given, depth - 1)
    if any(map(reduces, value.defs)):
        return False
    return any(op.name in OUTPUTS or _of_call(flow, op, depth - 1) for op in closure(value.defs, through))


def _of_call(flow: FunctionFlow, op: Op, depth: int) -> bool:
    """Is it the result of a function of the project that gives such a value?"""
    inner = applied_flow(flow, op) if op.name == "call" and op.value.kind is not Kind.CONTAINER else None
    return inner is not None and any(_at_full_size(inner, given, depth) for given in inner.frame.returns)


def _given(flow: FunctionFlow, value: Value) -> tuple[FunctionFlow, Value] | None:
    """The function of the project that returned the value among others, and the value there."""
    for call in flow.named("call"):
        known = known_members(call.value)
        inner = applied_flow(flow, call) if any(member is value for member in known) else None
        for returned in inner.frame.returns if inner is not None else ():
            found = [theirs for mine, theirs in zip(known, known_members(returned)) if mine is value]
            if found and inner is not None:
                return inner, found[0]
    return None


def _returned(flow: FunctionFlow, op: Op) -> Iterator[tuple[str | None, Value]]:
    """What a return statement hands over: the members of a dict with their keys, or the value itself."""
    for maker in op.inputs:
        value = maker.value
        if isinstance(value.elements, dict):
            yield from ((str(key), member) for key, member in value.elements.items())
        else:
            yield None, value


def _unread(flow: FunctionFlow, end: FunctionInfo, key: str | None) -> bool:
    """Does the method for the epoch's end surely not read these results: none of them, or none under that key?"""
    inner = flow.program.flow(end)
    results = next((op for op in inner.named("param") if op.path == end.parameters[1].name), None) if inner else None
    if inner is None or results is None:
        return False
    if not results.consumers:
        return True
    if key is None or key in end.words:
        return False
    return not any(op.sunk & AWAY or op.name == "call" for op in closure([results], lambda o: o.uses))
