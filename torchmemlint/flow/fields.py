"""Attributes of objects that are made in sight: which carries the graph of which, so that a backward on a sum of losses
walks its terms and leaves the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from torchmemlint.flow.graph import Op, closure, link
from torchmemlint.flow.preparing import BY_NAME
from torchmemlint.flow.values import Fact, Kind, Value, known_members, replace

if TYPE_CHECKING:
    from torchmemlint.flow.frame import Frame
    from torchmemlint.index.model import FunctionInfo

Within = Mapping[str, frozenset[str]]
"""Of an attribute the others whose graph it carries."""

SETTING = BY_NAME | {"vars"}
"""A function that names one of these may bind any attribute anew."""


def with_fields(value: Value) -> tuple[Value, ...]:
    """The value; of an object that was made in sight its attributes as well."""
    return (value, *known_members(value)) if value.kind is Kind.INSTANCE and value.elements else (value,)


def within(held: Iterable[tuple[str, Value]]) -> dict[str, frozenset[str]]:
    """Which of the values that attributes hold carry the graphs of others of them."""
    made = [(name, value) for name, value in held if value.defs and value.kind is not Kind.HOST]
    found = {}
    for name, value in made if len(made) > 1 else ():
        behind = set(closure(value.defs, lambda o: o.inputs if o.passes else ()))
        found[name] = frozenset(other for other, v in made if other != name and behind.issuperset(v.defs))
    return found


def as_operations(f: Frame, made: Op, held: Mapping[Any, Value], parts: Within) -> dict[Any, Value]:
    """The attributes of an object as operations of their own beside the one that made it. The positions of a named
    tuple are those of its names."""
    names = [name for name in held if isinstance(name, str)]
    known = {n: f.op(f"field.{n}", made.node, held[n], inputs=[made.value]).value for n in names if _carries(held[n])}
    for name, others in parts.items():
        for other in others & known.keys() if name in known else ():
            link(known[name].defs[0], known[other])
    return {key: known.get(key if isinstance(key, str) else names[key], value) for key, value in held.items()}


def fields_of(value: Value) -> dict[str, Value]:
    """The attributes of an object that was made in sight, by name."""
    known = value.elements if value.kind is Kind.INSTANCE and isinstance(value.elements, dict) else {}
    return {name: member for name, member in known.items() if isinstance(name, str)}


def renewed(base: Value, given: Mapping[str | None, Value] | Mapping[str, Value]) -> Value:
    """An object that was made in sight with other values for some attributes."""
    known = base.elements if isinstance(base.elements, dict) else {}
    names = [name for name in known if isinstance(name, str)]
    members = {key: given.get(key if isinstance(key, str) else names[key], old) for key, old in known.items()}
    facts = {member.fact for member in members.values()}
    kept = Fact.YES in facts or base.graph is Fact.NO
    return replace(base, elements=members, graph=base.graph if kept else Fact.MAYBE)


def sized(value: Value, large: Any) -> Value:
    """The object with those attributes told to be no single numbers of which `large` says so."""
    if value.kind is not Kind.INSTANCE or not isinstance(value.elements, dict):
        return value
    told = {
        k: replace(v, scalar=Fact.NO) if v.scalar is Fact.MAYBE and large(v) else v for k, v in value.elements.items()
    }
    return replace(value, elements=told)


def rebound(f: Frame, info: FunctionInfo, name: str) -> frozenset[str] | None:
    """The attributes of a parameter that a function's lines look to assign; None where it may assign any."""
    words = f.program.project.seen(info).words
    return f.program.classes.targets(info, name) if SETTING.isdisjoint(words) else None


def _carries(value: Value) -> bool:
    return value.kind is not Kind.HOST and value.fact is not Fact.NO
