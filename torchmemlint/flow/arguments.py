"""Which argument of a call goes to which parameter of a function of the project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from torchmemlint.flow.graph import Argument
from torchmemlint.flow.handed import mixed_members
from torchmemlint.flow.values import UNKNOWN, Kind, Value, replace
from torchmemlint.index.model import FunctionInfo


def bound_values(
    info: FunctionInfo, args: Sequence[Argument], receiver: Value | None, node: cst.BaseExpression
) -> list[Argument | None]:
    """The argument for each parameter of `info`, in order; None where the call gives none we can place."""
    given: dict[str, Argument] = {a.name: a for a in args if a.name not in (None, "*", "**")}
    plain = [a for a in args if a.name is None]
    spread = [a for a in args if a.name in ("*", "**")]
    bound: list[Argument | None] = []
    for position, parameter in enumerate(info.parameters):
        if position == 0 and receiver is not None and info.owner is not None and "staticmethod" not in info.decorators:
            bound.append(Argument(None, receiver, node))
        elif parameter.kind == "positional" and plain and parameter.name not in given:
            bound.append(plain.pop(0))
        elif parameter.kind == "vararg":
            bound.append(plain[0] if plain else None)
        elif parameter.kind == "kwarg":
            bound.append(_further(info, given, spread))
        else:
            bound.append(given.get(parameter.name))
    return [_one_of(spread) if b is None and spread else b for b in bound]


def _further(info: FunctionInfo, given: dict[str, Argument], spread: Sequence[Argument]) -> Argument | None:
    """The dict of the keywords that no parameter has the name of; None where others are spread, or where only some have
    a graph: which of them is used, their names decide."""
    names = {p.name for p in info.parameters if p.kind not in ("vararg", "kwarg")}
    further = [a for name, a in given.items() if name not in names]
    if spread:
        return _spread_alone(names, further, spread)
    if len({a.value.fact for a in further}) != 1:
        return None
    value = Value(
        kind=Kind.CONTAINER,
        graph=max(a.value.graph for a in further),
        params=frozenset[int]().union(*(a.value.params for a in further)),
        defs=tuple(dict.fromkeys(op for a in further for op in a.value.defs)),
        name="dict",
        elements={a.name: a.value for a in further},
    )
    return Argument("**", value, further[0].node)


def left_over(
    info: FunctionInfo, args: Sequence[Argument], bound: Sequence[Argument | None]
) -> Iterator[tuple[int, Argument]]:
    """The arguments for which nothing is bound to the parameters that gather them, `*args` and `**kwargs`, with that
    parameter's position: nothing more is known of them than where they end."""
    names = {p.name for p in info.parameters if p.kind not in ("vararg", "kwarg")}
    for position, parameter in enumerate(info.parameters):
        given = bound[position]
        if parameter.kind == "vararg":
            yield from ((position, a) for a in args if a.name is None and all(a is not b for b in bound))
        elif parameter.kind == "kwarg" and (given is None or given.name == "*"):
            yield from ((position, a) for a in args if a.name not in (None, "*", "**") and a.name not in names)


def _spread_alone(names: set[str], further: list[Argument], spread: Sequence[Argument]) -> Argument | None:
    """A dict whose keys are all known, where it is spread and nothing else is given."""
    known = spread[0].value.elements if len(spread) == 1 and spread[0].name == "**" and not further else None
    if not isinstance(known, dict) or not known.keys().isdisjoint(names) or mixed_members(spread[0].value):
        return None
    return spread[0]


def _one_of(spread: Sequence[Argument]) -> Argument:
    """What `*args` or `**kwargs` may give to a parameter: nothing is known but where it comes from."""
    defs = tuple(dict.fromkeys(op for a in spread for op in a.value.defs))
    params = frozenset[int]().union(*(a.value.params for a in spread))
    return Argument("*", replace(UNKNOWN, defs=defs, params=params), spread[-1].node)
