"""Values that a function is given and keeps: what the known calls hand over, with the operations that made it there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.graph import Mode, Op, closure, fact, freed
from torchmemlint.flow.patterns import key_of
from torchmemlint.flow.types import never_holds_tensors
from torchmemlint.flow.values import Fact, Kind, Value, known_members, replace

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

DEPTH = 3  # calls up
PASSED = frozenset({"param", "item", "iter", "read"})  # operations that hand on what came in; nothing is recorded


def handed(flow: FunctionFlow, value: Value) -> Value | None:
    """`value`, which carries what parameters carry, as a known call makes it: attached, with the operations of the
    caller behind it; None where no call hands over a graph. The call whose graph no backward has freed comes first."""
    if not any(_may_be_handed(flow, position) for position in value.params):
        return None
    as_it_came = bool(value.defs) and all(map(_passed_on, value.defs))
    if not as_it_came and not any(runs_with_grad(flow, op) for op in value.defs):
        return None
    members = apart(value, [p.name for p in flow.info.parameters]) if not as_it_came else frozenset[int]()
    found = [
        given
        for position in value.params
        for given in _given(flow, position, DEPTH)
        if position not in members or not mixed_members(given)
    ]
    if as_it_came:
        found = [part for given in found if (part := _part(value, given)) is not None]
    attached = [given for given in found if fact(given) is Fact.YES and given.kind is not Kind.HOST]
    if not attached:
        return None
    chosen = next((given for given in attached if not freed(given)), attached[0])
    if as_it_came:
        return replace(chosen, graph=Fact.YES, kind=value.kind if value.kind is not Kind.UNKNOWN else chosen.kind)
    return replace(value, graph=Fact.YES, defs=(*value.defs, *chosen.defs))


def _may_be_handed(flow: FunctionFlow, position: int) -> bool:
    """May a call hand a graph to the parameter? Not where it is declared as numbers, texts or containers of these."""
    return not never_holds_tensors(flow.info.parameters[position].annotation)


def runs_with_grad(flow: FunctionFlow, op: Op) -> bool:
    """Can grad be on at this operation, all known callers considered?"""
    if op.mode is Mode.ENTERED:
        return flow.program.callers.entered(flow.info) is not Fact.NO
    return op.mode is not Mode.OFF


def _given(flow: FunctionFlow, position: int, depth: int) -> Iterator[Value]:
    """What the known calls pass for a parameter; a caller that passes on its own parameter is asked in turn."""
    callers = flow.program.callers
    for site in callers.sites(flow.info).calls if _may_be_handed(flow, position) else ():
        bound = callers.bound(flow.info, site.op)
        given = bound[position].value if position < len(bound) and bound[position] is not None else None  # type: ignore[union-attr]
        if given is None:
            continue
        passed = bool(depth and given.defs) and all(map(_passed_on, given.defs))
        if passed and len(given.params) == 1 and fact(given) is not Fact.YES:
            above = _given(site.flow, next(iter(given.params)), depth - 1)
            yield from (part for whole in above if (part := _part(given, whole)) is not None)
        elif any(runs_with_grad(site.flow, op) for op in given.defs):
            yield given


def apart(value: Value, names: list[str]) -> frozenset[int]:
    """The parameters of which the value carries the graph by members only that a loop goes over."""
    if not value.params:
        return value.params
    whole = closure(value.defs, lambda o: o.inputs if o.name != "iter" else (), 60)
    return value.params - {names.index(o.path) for o in whole if o.name == "param" and o.path in names}


def mixed_members(value: Value) -> bool:
    """Has only some of what is in a container a graph? A test in a loop over it may leave out just this."""
    return value.kind is Kind.CONTAINER and len({member.fact for member in known_members(value)}) > 1


def _passed_on(op: Op) -> bool:
    """Does it hand on what came in: a parameter, a member of one, or a field of an object that is one?"""
    return op.name in PASSED or field_of(op) is not None


def field_of(op: Op) -> str | None:
    """The field that is read from an object which is a parameter."""
    given = op.name == "load" and type(op.node) is cst.Attribute and bool(op.inputs)
    return op.node.attr.value if given and all(o.name == "param" for o in op.inputs) else None  # type: ignore[attr-defined]


def _part(value: Value, given: Value) -> Value | None:
    """What is taken out of a container that a call passes: the member of a key that is written down, or any."""
    taken = [op for op in value.defs if op.name != "param"]
    if not taken:
        return given
    if given.kind is Kind.TENSOR and all(op.mode is Mode.OFF for op in taken):
        return None  # a view made without grad
    members = given.elements
    field = field_of(taken[0])
    if field is not None:
        made_here = len(taken) == 1 and given.kind is Kind.INSTANCE and isinstance(members, dict)
        return members.get(field) if made_here else None  # type: ignore[union-attr]
    key = key_of(taken[0].node) if len(taken) == 1 else None
    if isinstance(members, dict) and key is not None:
        return members.get(key)
    known = known_members(given)
    if any(fact(m) is not Fact.YES for m in known):
        return None  # a test in the loop may leave out just the attached ones
    if known and given.kind is Kind.CONTAINER:
        return next((m for m in known if not freed(m)), known[0])
    return replace(given, kind=Kind.UNKNOWN, elements=None, scalar=Fact.MAYBE)
