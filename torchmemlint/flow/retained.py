"""Graphs that a backward call keeps (`retain_graph`, `create_graph`): is what it keeps ever walked again?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.entering import entering, entries
from torchmemlint.flow.graph import Op, Sink, closure, downstream, fact, sinks
from torchmemlint.flow.leaves import is_leaf
from torchmemlint.flow.values import Fact, Kind, replace

if TYPE_CHECKING:
    from torchmemlint.flow.callers import CallSite
    from torchmemlint.flow.function import FunctionFlow

LEAVES = frozenset(
    "param load batch parameters construct iter item literal.list literal.tuple literal.dict store bind comprehension "
    "function".split()
)
OUT_OF_SIGHT = frozenset({Sink.UNKNOWN_CALL, Sink.ATTRIBUTE, Sink.GLOBAL, Sink.RETURNED, Sink.YIELDED})


class Again(Enum):
    """Is a kept graph walked again?"""

    NEVER = "never"
    NOT_LAST = "in all iterations but the last"
    PARTLY = "only a part of it"
    YES = "yes"
    GIVEN = "only if what comes in as a parameter has a graph"
    UNSEEN = "perhaps, by code out of sight"


def flag(op: Op, name: str) -> bool:
    """Is the keyword `name` of a backward call the literal True?"""
    return any(a.name == name and a.value.const is True for a in op.arguments)


def walked(op: Op) -> set[Op]:
    """The operations whose saved tensors a backward call walks."""
    return _graph(op.receiver.defs if op.receiver is not None else ())


def _graph(roots: Iterable[Op]) -> set[Op]:
    return {o for o in closure(roots, _operands) if o.name not in LEAVES and (fact(o.value) is not Fact.NO or o.proven)}


def _operands(op: Op) -> list[Op]:
    """What the graph of a result goes back to: not to the module that was called, whose weights are leaves."""
    if not op.passes:
        return []
    called = op.name == "module" or op.name == "?call" and not (op.callee or "").startswith("?.")
    skipped = op.receiver.defs if called and op.receiver is not None else ()
    given = (maker for a in op.arguments for maker in a.value.defs) if op.name == "call" else ()
    return [*(maker for maker in op.inputs if maker not in skipped), *given]


def again(flow: FunctionFlow, op: Op) -> Again:
    """Who needs the graph that the backward call `op` keeps?"""
    if any(o.depth < op.depth for o in walked(op)):
        return Again.UNSEEN  # a function in the function, which may be called again and again
    mine = {o for o in walked(op) if not is_leaf(flow, replace(o.value, defs=(o,)))}
    shared = set().union(*(mine & _reached(other) for other in _others(flow, op)), set())
    if shared:
        forwards = {o for o in mine if o.name == "module"}
        return Again.PARTLY if forwards - shared and shared & forwards else Again.YES
    if _over_members(op):
        return Again.NOT_LAST
    if not mine or _comes_round(mine, op):
        return Again.YES
    if _leaves(flow, op, mine):
        return Again.UNSEEN
    unsure = [(value, known) for value in entries(mine) if (known := entering(flow, value)) is not Fact.NO]
    if not unsure:
        return Again.NEVER
    if _dropped_by_callers(flow, op):
        return Again.NEVER
    plain = all(known is Fact.MAYBE and all(d.name == "param" for d in value.defs) for value, known in unsure)
    return Again.GIVEN if plain and op.loops else Again.UNSEEN


def _dropped_by_callers(flow: FunctionFlow, op: Op) -> bool:
    """Are all calls of the function known, and does none of them need what it handed in again?"""
    sites = flow.program.callers.sites(flow.info)
    given = _given(op)
    return bool(given) and sites.complete and all(_idle(site, flow, given) for site in sites.calls)


def asked_in_vain(flow: FunctionFlow, op: Op) -> Iterator[Op]:
    """The calls, in the same file, that set the flag by which a helper's backward keeps the graph of its argument, and
    then never walk that again."""
    asked = next((a.value for a in op.arguments if a.name == "retain_graph"), None)
    flags = {d.path for d in asked.defs} if asked is not None and all(d.name == "param" for d in asked.defs) else set()
    names = [p.name for p in flow.info.parameters]
    positions = [names.index(path) for path in flags if path in names]
    given = _given(op)
    if len(positions) != 1 or not given or len(flow.named("backward")) > 1:
        return
    for site in flow.program.callers.sites(flow.info).calls:
        bound = flow.program.callers.bound(flow.info, site.op)
        told = bound[positions[0]]
        here = site.flow.unit.source.path == flow.unit.source.path
        if here and told is not None and told.value.const is True and _idle(site, flow, given):
            yield site.op


def _given(op: Op) -> list[str]:
    """The parameters through which graphs come into what a backward walks."""
    behind = closure(op.receiver.defs if op.receiver is not None else (), _operands)
    return sorted({o.path for o in behind if o.name == "param" and o.path})


def _idle(site: CallSite, callee: FunctionFlow, given: list[str]) -> bool:
    """Does the caller leave the graphs alone that it hands over as these parameters?"""
    bound = site.flow.program.callers.bound(callee.info, site.op)
    arguments = [a for p, a in zip(callee.info.parameters, bound) if a is not None and p.name in given]
    mine = _graph(maker for a in arguments for maker in a.value.defs)
    mine = {o for o in mine if not is_leaf(site.flow, replace(o.value, defs=(o,)))}
    own = {id(a.node) for a in bound if a is not None}
    others = [other for other in _others(site.flow, site.op) if id(other.node) not in own]
    if not mine or any(mine & _reached(other) for other in others) or _comes_round(mine, site.op):
        return False
    return not _leaves(site.flow, site.op, mine) and all(entering(site.flow, v) is Fact.NO for v in entries(mine))


def _others(flow: FunctionFlow, op: Op) -> list[Op]:
    """Calls that may walk a graph after `op`, or before it in a loop around both."""
    found = []
    for other in flow.ops:
        walks = other.name == "backward" or (other.name == "argument" and Sink.BACKWARD in other.sunk)
        if other is op or not walks or other.node is op.node:
            continue
        if other.order > op.order or set(other.loops) & set(op.loops):
            found.append(other)
    return found


def _reached(other: Op) -> set[Op]:
    if other.name == "backward":
        return walked(other)
    return _graph(other.inputs)


def _over_members(op: Op) -> bool:
    """Does a loop hand its backward one loss after the other out of a container made before the loop?"""
    if not op.loops or op.receiver is None:
        return False
    inner = op.loops[-1]
    through = frozenset({"iter", "item", "arith", "read"})
    behind = closure(op.receiver.defs, lambda o: o.inputs if o.name in through else ())
    members = [o for o in behind if o.name == "iter" and (o.loops[-1:] == (inner,) or _paired(o, op))]
    return any(
        maker.name != "batch" and maker.value.kind is not Kind.LOADER and inner not in maker.loops
        for member in members
        for maker in member.inputs
    )


def _paired(member: Op, op: Op) -> bool:
    """Is it a member that `enumerate` or `zip` gives the loop around `op`?"""
    return member.loops == op.loops[:-1] and not isinstance(member.node, cst.Subscript)


def _comes_round(mine: set[Op], op: Op) -> bool:
    """Is a part of the graph made before the loop, or carried from an earlier iteration? Then the next one walks it."""
    if not op.loops:
        return False
    inner = op.loops[-1]
    if any(inner not in o.loops for o in mine):
        return True
    return any(o.carried or o in set(closure(o.inputs, lambda x: x.inputs if x.passes else ())) for o in mine)


def _leaves(flow: FunctionFlow, op: Op, mine: set[Op]) -> bool:
    """Does a part of the graph leave the function towards code that may walk it?"""
    for maker in mine:
        ends = sinks(maker)
        if ends & {Sink.ATTRIBUTE, Sink.GLOBAL, Sink.YIELDED} or _leaves_a_state(flow, maker):
            return True
        if Sink.RETURNED in ends and flow.program.callers.returned(flow) & (OUT_OF_SIGHT | {Sink.BACKWARD}):
            return True
    later = (user for maker in mine for user in maker.uses if user.order > op.order)
    return any(user.name == "?call" for user in later)


def _leaves_a_state(flow: FunctionFlow, op: Op) -> bool:
    """Does the forward that is called put a value with a graph on its object, for the next call?"""
    call = flow.frame.table.get((id(op.node), "call"), op)
    return any(kept.root == 0 and kept.graph is not Fact.NO for kept, _, _ in call.kept)


def second_order(flow: FunctionFlow, op: Op) -> tuple[Again, str | None]:
    """Is the graph of gradients (`create_graph=True`) walked? The name is of a caller that does not walk it."""
    if not op.uses:
        return Again.UNSEEN, None  # run for its hooks, which may keep the gradients
    callers = flow.program.callers
    own = {user for user in downstream(op) if user.node is op.node}  # the same call in the next iteration
    ends = {sink for user in set(downstream(op)) - own for sink in user.sunk}
    if Sink.BACKWARD in ends:
        return Again.YES, None
    if any((user.path or "").endswith(".grad") for user in downstream(op)):
        return Again.UNSEEN, None  # an optimizer may take second derivatives
    if Sink.RETURNED not in ends:
        return (Again.UNSEEN if ends & OUT_OF_SIGHT else Again.NEVER), None
    sites = callers.sites(flow.info)
    idle = [site for site in sites.calls if not callers.sinks(site.flow, site.op) & (OUT_OF_SIGHT | {Sink.BACKWARD})]
    if not idle:
        return Again.UNSEEN, None
    return Again.PARTLY, idle[0].flow.info.qualname or "the module body"
