"""What a caller has to know of a function: its result in terms of its parameters, and its effects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import libcst as cst

from torchmemlint.findings import Place
from torchmemlint.flow.conditions import UNSET, constant
from torchmemlint.flow.fields import Within, fields_of, sized, within
from torchmemlint.flow.graph import Argument, Mode, Op, Sink, Store, closure, freed, proven, sinks
from torchmemlint.flow.handed import apart, field_of
from torchmemlint.flow.lean import walk
from torchmemlint.flow.scalars import compared
from torchmemlint.flow.units import dotted
from torchmemlint.flow.values import (
    HOST,
    Fact,
    Kind,
    Value,
    facts,
    join,
    known_members,
    mapped,
    may_carry_graph,
    replace,
)

if TYPE_CHECKING:
    from torchmemlint.flow.frame import Frame
    from torchmemlint.index.model import FunctionInfo

GLOBAL_ROOT = -1
CUTS = frozenset({"number", "torch.detach", "torch.data", "torch.numpy"})  # the result has no graph, the operand may
Settings = tuple[tuple[int, Any], ...]
"""Constants that a function is called with, by the position of their parameter."""
LOCAL_ENDS = frozenset({Sink.RETURNED, Sink.YIELDED})


@dataclass(frozen=True)
class Kept:
    """A value that a function leaves in something that outlives the call."""

    root: int  # index of the parameter that holds it (self is 0); GLOBAL_ROOT for a global
    path: str  # "self.sum", "losses"
    params: frozenset[int]  # parameters that the kept value carries the graph of
    graph: Fact  # its own graph
    how: str
    place: Place
    scalar: Fact = Fact.MAYBE
    apart: frozenset[int] = frozenset()  # parameters over whose members it goes; which it keeps, tests may decide


@dataclass(frozen=True)
class Callback:
    """A call of a parameter of unknown kind."""

    position: int
    mode: Mode  # the grad mode in which it is called
    repeated: bool  # in a loop
    ends: frozenset[Sink]  # where the graph of its result ends


@dataclass(eq=False)
class Summary:
    """The effect of calling a function."""

    function: str
    value: Value  # the result; its `params` are parameter indexes
    parameter_sinks: tuple[frozenset[Sink], ...] = ()
    kept: tuple[Kept, ...] = ()
    frozen: frozenset[int] = frozenset()  # parameters (modules) that it freezes
    written: frozenset[str] = frozenset()  # attribute paths of self that it rebinds
    exit_mode: Mode = Mode.ENTERED  # grad mode that it leaves behind
    yield_mode: Mode | None = None  # grad mode at its yield, for context managers
    enables: bool = False  # it switches grad on for itself
    backward: bool = False  # it runs a backward
    unsettled: frozenset[int] = frozenset()  # parameters of unknown kind that it calls
    split: bool = False  # on some ways it cuts the graph of its result off, on others it does not
    callbacks: tuple[Callback, ...] = ()
    spent: bool = False  # a backward of its own has freed all graphs that it gives back
    walked: frozenset[int] = frozenset()  # parameters whose graphs a backward of its own frees
    flags: Settings = ()  # of such a function: the parameters that its tests ask, with their defaults
    within: Within = field(default_factory=dict)  # of the object that it fills or returns


WALKS = frozenset({"backward", "call"})
"""Operations that free graphs: a backward, and a call of a function that runs one."""


def alike(a: object, b: object) -> bool:
    """Do two answers say the same? Values have no equality of their own: they are told apart by their makers."""
    if a is b or type(a) is not type(b):
        return a is b
    if isinstance(a, Value) and isinstance(b, Value):
        return alike(facts(a), facts(b))
    if isinstance(a, Summary):
        return alike(vars(a), vars(b))
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    return a == b


def summarise(f: Frame, entry: Mode, parameters: list[Op]) -> Summary:
    """The summary of the function that `f` has interpreted."""
    info = f.info
    names = [p.name for p in info.parameters]
    split = any(map(_is_split, f.returns)) or _differ(f.returns)
    rebound = {op.path for op in f.ops if op.name == "store" and op.path and op.path.startswith("self.")}
    backs = [op for op in f.ops if op.name == "backward"]
    return Summary(
        info.id,
        _result(f, info),
        tuple(sinks(parameter) - LOCAL_ENDS for parameter in parameters),
        tuple(_kept(f, names)),
        frozenset(i for i, name in enumerate(names) if name in f.frozen),
        frozenset(p for p in rebound if p is not None),
        f.state.mode if f.state.mode is not entry else Mode.ENTERED,
        f.yields[0].mode if f.yields else None,
        entry is Mode.ON or any(op.mode is Mode.ON for op in f.ops),
        bool(backs),
        frozenset(i for i, name in enumerate(names) if name in f.unsettled),
        split,
        tuple(_callbacks(f, parameters)),
        _spent(f, backs),
        frozenset(i for i, parameter in enumerate(parameters) if any(op.name in WALKS for op in parameter.freed)),
        _flags(f, parameters) if split or _of_two_forms(f.returns) else (),
        _within(f, info),
    )


def _spent(f: Frame, backs: list[Op]) -> bool:
    """Has the function, on every way, run the backward of all that it returns with a graph?"""
    if not backs or any(op.branches for op in backs):
        return False
    parts = [part for value in f.returns for part in known_members(value) or (value,)]
    attached = [part for part in parts if part.graph is not Fact.NO or part.params or proven(part)]
    return bool(attached) and all(map(freed, attached))


def _callbacks(f: Frame, parameters: list[Op]) -> Iterator[Callback]:
    """The calls of parameters, as of a step function that is handed in."""
    positions = {op.path: position for position, op in enumerate(parameters)}
    for op in f.ops:
        if op.name == "?call" and op.callee in positions and op.receiver is not None:
            yield Callback(positions[op.callee], op.mode, bool(op.loops), sinks(op))


def _is_split(value: Value) -> bool:
    """Is it, or a member of it, made by several operations of which some cut a graph off and others carry one?"""
    return any(map(_is_split, known_members(value))) or _differ([op.value for op in value.defs])


def _differ(values: Sequence[Value]) -> bool:
    """Is one of the values, or a member of it, cut off from a graph where another has one?"""
    if len(values) < 2:
        return False
    if any(v.graph is not Fact.NO or v.params for v in values) and any(map(_is_cut, values)):
        return True
    members = [known_members(v) for v in values]
    return len({len(m) for m in members}) == 1 and any(map(_differ, zip(*members)))


def _of_two_forms(returned: Sequence[Value]) -> bool:
    """Does the function return tuples of different lengths, or a tuple here and something else there?"""
    lengths = {len(v.elements) if isinstance(v.elements, tuple) else 0 for v in returned if v.kind is not Kind.HOST}
    return len(lengths) > 1


def _is_cut(value: Value) -> bool:
    if value.graph is not Fact.NO or value.params:
        return False
    return any(op.name in CUTS for op in closure(value.defs, lambda o: o.inputs if o.name not in CUTS else (), 20))


def _flags(f: Frame, parameters: list[Op]) -> Settings:
    """The parameters whose names stand in tests, and that nothing binds anew."""
    tests = [n.test for n in walk(f.unit.tree) if type(n) is cst.If or type(n) is cst.IfExp]
    asked = {n.value for test in tests for n in walk(test) if type(n) is cst.Name}
    bound = {op.path for op in f.ops if op.name == "bind"}
    return tuple(
        (position, constant(op.node.default) if type(op.node) is cst.Param else UNSET)
        for position, op in enumerate(parameters)
        if op.path in asked and op.path not in bound
    )


def _result(f: Frame, info: FunctionInfo) -> Value:
    if f.yields and info.is_generator:
        value = f.yields[0].value
        for op in f.yields[1:]:
            value = join(value, op.value)
        value = Value(kind=Kind.CONTAINER, graph=value.graph, params=value.params, elements=(plain(value),))
    elif f.returns:
        returned = [v for v in f.returns if v is not HOST] or f.returns  # what comes back, not the way out without it
        value = _proven(_given_back(f, returned[0]))
        for other in returned[1:]:
            value = join(value, _proven(_given_back(f, other)))
    else:
        value = HOST
    declared = f.program.annotation(f.unit.index, info.returns)
    if declared.kind is Kind.HOST and value.kind in (Kind.UNKNOWN, Kind.HOST):
        return HOST
    if value.kind is Kind.UNKNOWN and declared.kind is not Kind.UNKNOWN:
        value = replace(value, kind=declared.kind, name=declared.name)
    return plain(value)


def _given_back(f: Frame, value: Value) -> Value:
    """What is returned, with the graphs of what was put into it; also into a container that came as a parameter."""
    value = f.filled(value)
    put = [s for op in value.defs if op.name == "param" for s in op.stores]
    return replace(value, graph=Fact.YES) if any(s.value.graph is Fact.YES for s in put) else value


def _proven(value: Value) -> Value:
    """The value, attached where a backward call in the function proves it."""
    known = sized(mapped(value, _proven), compared)
    return replace(known, graph=Fact.YES if proven(value) else value.graph)


def plain(value: Value) -> Value:
    """The value without references to the operations that made it."""
    given = tuple(Argument(a.name, plain(a.value), a.node) for a in value.given)
    return replace(mapped(value, plain), defs=(), shares=(), given=given)


def elsewhere(value: Value) -> Value:
    """The value as another function meets it: its parameters, and those that partial has bound, are not that one's."""
    given = tuple(Argument(a.name, elsewhere(a.value), a.node) for a in value.given)
    graph = Fact.MAYBE if value.params else value.graph
    return replace(plain(value), graph=graph, params=frozenset(), given=given)


def _kept(f: Frame, names: list[str]) -> list[Kept]:
    kept = []
    for op in f.ops:
        for store in op.stores:
            root = _root(op, names)
            if root is not None and not _is_field(store.value) and store.value.fact is not Fact.NO:
                kept.append(_entry(f, root, op.path or names[root], store))
        if op.name == "torch.setitem":
            kept += _slot(f, op, names)
        for inner, holder, values in op.kept:
            path = f.program.path_of(holder)
            root = names.index(path.partition(".")[0]) if path and path.partition(".")[0] in names else None
            if root is not None and path is not None:
                params = frozenset(p for a in values for p in a.value.params)
                graph = max((a.value.graph for a in values), default=inner.graph)
                attribute = inner.path.partition(".")[2]
                kept.append(
                    Kept(
                        root,
                        f"{path}.{attribute}" if attribute else path,
                        params,
                        max(graph, inner.graph),
                        inner.how,
                        inner.place,
                    )
                )
    return kept[:20]


def _is_field(value: Value) -> bool:
    """Is it read from an object that a caller hands in? Which of its fields has a graph that call's object tells."""
    return bool(value.defs) and all(field_of(op) is not None and op.value.graph is Fact.NO for op in value.defs)


def _entry(f: Frame, root: int, path: str, store: Store) -> Kept:
    value = store.value
    graph = Fact.YES if proven(value) else value.graph
    place, members = Place(f.unit, store.op.node), apart(value, [p.name for p in f.info.parameters])
    return Kept(root, path, value.params, graph, store.how, place, value.scalar, members)


def _within(f: Frame, info: FunctionInfo) -> Within:
    """Which attributes of the object that a constructor fills, or a function returns, carry the graphs of others."""
    if info.name == "__init__" and info.parameters:
        own = info.parameters[0].name + "."
        loads = (op for op in f.ops if op.name == "load" and op.stores and (op.path or "").startswith(own))
        return within(((op.path or "").removeprefix(own), store.value) for op in loads for store in op.stores)
    returned = [fields_of(value) for value in f.returns if value is not HOST]
    return within(returned[0].items()) if len(returned) == 1 and returned[0] else {}


def _slot(f: Frame, op: Op, names: list[str]) -> list[Kept]:
    """`self.values[t] = value` where the attribute of a plain object is a tensor. A module's own cache is run without
    grad."""
    path = dotted(op.node.value) if type(op.node) is cst.Subscript and op.arguments else None
    head, _, attribute = (path or "").partition(".")
    given = op.arguments[0].value if op.arguments else None
    if path is None or given is None or not attribute or head not in names:
        return []
    owner = next((o.value for o in f.ops if o.name == "param" and o.path == head), None)
    if owner is None or owner.kind is not Kind.INSTANCE or given.graph is Fact.NO and not given.params:
        return []
    if not may_carry_graph(f.program.classes.attribute(owner.name, attribute)):
        return []
    graph = Fact.YES if proven(given) else given.graph
    return [Kept(names.index(head), path, given.params, graph, "slot", Place(f.unit, op.node))]


def _root(holder: Op, names: list[str]) -> int | None:
    """The parameter that owns the holder: a container parameter itself, or the object whose attribute it is."""
    if holder.name == "param":
        return names.index(holder.path) if holder.path in names else None
    if holder.name == "load" and holder.path is not None:
        root = holder.path.partition(".")[0]
        return names.index(root) if root in names else GLOBAL_ROOT
    return None
