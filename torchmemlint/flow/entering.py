"""What enters a function from outside: does a value carry a graph once the arguments of the known calls are put in?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchmemlint.flow.callers import CallSite
from torchmemlint.flow.graph import Mode, Op, closure, fact
from torchmemlint.flow.tensors import CONVERSIONS
from torchmemlint.flow.types import never_holds_tensors
from torchmemlint.flow.values import Fact, Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.index.model import ClassInfo

DEPTH = 4  # calls of calls that are asked
MAKERS = 20  # functions that make a module, whose classes are looked through for calls of it


def entering(flow: FunctionFlow, value: Value, depth: int = 0) -> Fact:
    """Does `value` carry a graph? YES if it does by itself or in one known call; NO only if every call is known."""
    known = fact(value)
    if known is Fact.YES or not value.params or value.kind is Kind.HOST:
        return known
    if depth >= DEPTH:
        return Fact.MAYBE
    facts = {argument(flow, position, depth) for position in value.params}
    return max(facts, default=known)


def argument(flow: FunctionFlow, position: int, depth: int = 0) -> Fact:
    """The same for a parameter of the function; MAYBE where no call of it is known, or it is declared as plain data:
    no caller is asked then, and a declaration is no proof."""
    callers, info = flow.program.callers, flow.info
    if never_holds_tensors(info.parameters[position].annotation):
        return Fact.MAYBE
    facts = set()
    for site in calls(flow):
        bound = callers.bound(info, site.op)
        given = bound[position] if position < len(bound) else None
        if given is None:
            facts |= {Fact.NO} if info.parameters[position].number else set()
            continue
        grad_off = site.op.mode is Mode.OFF
        facts.add(Fact.NO if grad_off else entering(site.flow, given.value, depth + 1))
    if Fact.YES in facts:
        return Fact.YES
    return Fact.NO if facts == {Fact.NO} else Fact.MAYBE


def calls(flow: FunctionFlow) -> list[CallSite]:
    """The known calls; of a module's forward also those through an attribute of the class that makes the module."""
    info, program = flow.info, flow.program
    found = list(program.callers.sites(info).calls)
    owner = program.project.owner(info) if info.name in ("forward", "__call__") else None
    if found or owner is None:
        return found
    for maker in program.project.mentions(owner.name, info.path)[:MAKERS]:
        host = program.project.owner(maker)
        if host is None or host.id == owner.id:
            continue
        for other in map(program.flow, program.project.methods(host)):
            if other is not None:
                own = (op for op in other.named("call") if op.callee == info.id and op.target == info.path)
                found += [CallSite(other, op) for op in own]
    return found


def entries(ops: set[Op]) -> list[Value]:
    """The values from outside (parameters, attributes, globals) whose graphs may go on into these operations."""
    found = []
    for op in ops:
        values = [a.value for a in op.arguments] if op.name.removeprefix("torch.") not in CONVERSIONS else []
        if op.receiver is not None and (op.name.startswith("torch.") or op.name in ("arith", "item", "iter")):
            values.append(op.receiver)
        found += [v for v in values if v.kind not in (Kind.HOST, Kind.MODULE) and any(_outer(d) for d in v.defs)]
    return found


def _outer(op: Op) -> bool:
    return op.name in ("param", "load") and op.value.kind in (Kind.UNKNOWN, Kind.TENSOR, Kind.CONTAINER)


def behind(op: Op, through: frozenset[str]) -> set[Op]:
    """Everything that `op` is computed from, walking on through the operations with these names only."""
    return set(closure([op], lambda o: o.inputs if o.name in through or o is op else ()))


def handed_calls(flow: FunctionFlow) -> list[CallSite]:
    """The calls of a module's forward in functions that those who make the module hand it to."""
    info, program = flow.info, flow.program
    owner = program.project.owner(info)
    made = program.project.mentions(owner.name, info.path)[:MAKERS] if owner is not None else []
    found: dict[str, CallSite] = {}
    for maker in filter(None, map(program.flow, made)):
        for call in maker.named("call"):
            inner = program.called(call)
            given = inner is not None and _given_module(call, owner)
            other = program.flow(inner, program.callers.context(inner)) if inner is not None and given else None
            for op in other.named("call") if other is not None else ():
                if other is not None and op.callee == info.id and op.target == info.path:
                    found.setdefault(f"{program.key(other.info)} {op.order}", CallSite(other, op))
    return list(found.values())


def _given_module(call: Op, owner: ClassInfo | None) -> bool:
    """Is the call given a module of that class?"""
    key = f"{owner.path}|{owner.id}" if owner is not None else ""
    return any(a.value.kind is Kind.MODULE and a.value.name == key for a in call.arguments)
