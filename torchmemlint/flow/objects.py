"""Objects of the project's classes: what is made of what, and what their attributes hold from then on."""

from __future__ import annotations

import functools
from typing import Any

import libcst as cst

from torchmemlint.flow.arguments import bound_values
from torchmemlint.flow.dispatch import unknown
from torchmemlint.flow.fields import SETTING, as_operations, renewed
from torchmemlint.flow.frame import Frame
from torchmemlint.flow.graph import Argument, Mode, Op, proven
from torchmemlint.flow.summary import Kept
from torchmemlint.flow.values import HOST, UNKNOWN, Fact, Kind, Value, join, known_members, replace, united
from torchmemlint.index.model import ClassInfo

CARRYING = frozenset({Kind.TENSOR, Kind.UNKNOWN, Kind.INSTANCE})


def construct(f: Frame, node: cst.Call, callee: Value, args: list[Argument]) -> Value:
    """Make an object of a project class."""
    info = f.program.class_(callee.name)
    if info is None:
        return _chosen(f, node, callee, args) or unknown(f, node, args, callee)
    value = f.program.instance(info)
    if value.kind is Kind.INSTANCE:
        graph, params = f.derived(_fields(f, node, info, args))
        value = replace(value, graph=graph, params=params)
    made = f.op("construct", node, value, arguments=args, callee=info.id)
    made.target = info.path
    if value.kind is Kind.INSTANCE and (value.graph is not Fact.NO or value.params):
        made.value = replace(made.value, elements=_named(f, made, info, args))
    return made.value


def replaced(f: Frame, node: cst.Call, args: list[Argument]) -> Value:
    """`dataclasses.replace(record, field=value)`: another object, which has the given values for those fields."""
    base, given = (args[0].value if args else UNKNOWN), {a.name: a.value for a in args[1:] if a.name}
    if base.kind is not Kind.INSTANCE or not isinstance(base.elements, dict) or len(given) < len(args) - 1:
        graph, params = f.derived([base])
        return f.op("read", node, Value(graph=min(graph, Fact.MAYBE), params=params), arguments=args).value
    return f.op("construct", node, renewed(base, given), inputs=base.elements.values(), arguments=args[1:]).value


def _chosen(f: Frame, node: cst.Call, callee: Value, args: list[Argument]) -> Value | None:
    """Make a module of one of several classes of the project, whichever a branch has chosen."""
    made = [f.program.class_(choice.name) for choice in known_members(callee)]
    values = [f.program.instance(info) for info in made if info is not None]
    if not values or len(values) < len(made) or any(v.kind is not Kind.MODULE for v in values):
        return None
    return f.op("construct", node, functools.reduce(join, values), arguments=args).value


def _named(f: Frame, made: Op, info: ClassInfo, args: list[Argument]) -> dict[Any, Value] | None:
    """What the attributes of a new object hold that carry what it was given, where no method binds them anew."""
    project = f.program.project
    if any(not SETTING.isdisjoint(m.words) for owner in project.mro(info) for m in project.methods(owner)):
        return None
    record = f.program.is_record(f.program.instance(info))
    held = _of_record(f, info, args) if record else _put_there(f, made, info, args)
    rebound = {name for name in held if any(m.name != "__init__" for m in f.program.classes.assigners(info, name))}
    known = {name: value for name, value in held.items() if name not in rebound and _may_carry(value)}
    if known and record and any(base.endswith("NamedTuple") for base in project.external_bases(info)):
        known = {name: held.get(name, HOST) for name in info.fields}
        return {**known, **dict(enumerate(known.values()))}
    return known or None


def _of_record(f: Frame, info: ClassInfo, args: list[Argument]) -> dict[str, Value]:
    bases = f.program.project.mro(info)
    records = all(f.program.is_record(f.program.instance(base)) for base in bases)
    names = list(dict.fromkeys(n for base in reversed(bases) for n in base.fields)) if records else []
    plain = all(a.name not in ("*", "**") for a in args)
    held = {a.name or names[i]: a.value for i, a in enumerate(args) if a.name or i < len(names)} if plain else {}
    return {name: value for name, value in held.items() if name in names}


def _put_there(f: Frame, made: Op, info: ClassInfo, args: list[Argument]) -> dict[str, Value]:
    """What the constructor assigns once."""
    init = f.program.method(f.program.key(info), "__init__")
    summary = f.program.summary(init, ()) if init is not None else None
    if init is None or summary is None or f.state.mode is Mode.OFF:
        return {}
    bound = bound_values(init, args, UNKNOWN, made.node)  # type: ignore[arg-type]
    own = [kept for kept in summary.kept if kept.root == 0 and kept.how == "assign" and kept.path.count(".") == 1]
    paths = [kept.path for kept in own]
    held = {k.path.partition(".")[2]: _made_of(k, bound) for k in own if paths.count(k.path) == 1}
    return as_operations(f, made, held, summary.within)


def _made_of(kept: Kept, bound: list[Argument | None]) -> Value:
    """What a constructor computes from its arguments, as this call gives them."""
    graph, params = kept.graph, frozenset[int]()
    given = [a.value for p in kept.params if p < len(bound) and (a := bound[p]) is not None]
    for operand in given:
        graph = graph.either(Fact.YES if proven(operand) else operand.graph)
        params = united(params, operand.params)
    return Value(graph=graph, params=params, scalar=kept.scalar)


def _may_carry(value: Value) -> bool:
    return value.kind in CARRYING and (value.graph is Fact.YES or bool(value.params))


def _fields(f: Frame, node: cst.Call, info: ClassInfo, args: list[Argument]) -> list[Value]:
    """The arguments that a new object holds: all that a record is made of, what the constructor puts on the object."""
    if f.program.is_record(f.program.instance(info)):
        return [a.value for a in args]
    init = f.program.method(f.program.key(info), "__init__")
    summary = f.program.summary(init, ()) if init is not None and args else None
    if init is None or summary is None:
        return []
    bound = bound_values(init, args, UNKNOWN, node)
    held = {p for kept in summary.kept if kept.root == 0 and kept.how == "assign" for p in kept.params}
    return [b.value for position, b in enumerate(bound) if b is not None and position in held]
