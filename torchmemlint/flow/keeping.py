"""What outlives an iteration or a call: holders with their stores, running totals, what a called function keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.buffers import whole_buffer
from torchmemlint.flow.cycles import carries, cuts
from torchmemlint.flow.events import HolderClosed
from torchmemlint.flow.graph import ARITHMETIC, Argument, Op, Sink, Store, closure, fact, freed, puts, sinks
from torchmemlint.flow.handed import handed, runs_with_grad
from torchmemlint.flow.leaves import is_leaf
from torchmemlint.flow.passing import HANDING, hands_on
from torchmemlint.flow.patterns import made_here
from torchmemlint.flow.slots import written
from torchmemlint.flow.values import Fact, Kind, Value, known_members
from torchmemlint.index.marks import COLLECTS, KEEPERS

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

STORING = frozenset({COLLECTS, KEEPERS})
"""Marks of functions that are looked at themselves: a call in such a one says what its callee keeps."""
LOCAL = frozenset(
    {"literal.list", "literal.dict", "literal.set", "comprehension", "?call", "read", "copy", "construct"}
)


def may_keep(op: Op) -> bool:
    """Can something be kept by, or at, the operation?"""
    return bool(op.stores or op.kept or op.loops or op.callee == "sum" or op.name == "torch.setitem")


def kept(flow: FunctionFlow, op: Op) -> Iterator[HolderClosed]:
    """The events of what is kept by, or at, one operation."""
    if op.stores:
        yield from _holder(flow, op)
    if op.kept:
        yield from _kept_by_callee(flow, op)
    if op.name in ARITHMETIC and op.loops:
        yield from _accumulator(flow, op)
    if op.callee == "sum":
        yield from _summed(flow, op)
    if op.name == "torch.setitem":
        yield from written(flow, op)


def _attached(flow: FunctionFlow, stores: Sequence[Store]) -> list[Store]:
    """The stores whose values may carry a graph; none where every caller has grad off when they are made."""
    found = [s for s in stores if fact(s.value) is not Fact.NO and s.value.kind is not Kind.HOST]
    found = [s for s in found if not s.value.defs or any(runs_with_grad(flow, op) for op in s.value.defs)]
    return [s for s in found if not is_leaf(flow, s.value)]


def _told(flow: FunctionFlow, store: Store) -> Store | None:
    """A value whose graph depends on a parameter, as a known caller makes it."""
    value = store.value
    asked = fact(value) is Fact.MAYBE and value.graph is Fact.NO
    given = handed(flow, value) if asked else None
    if given is None or _is_told_at_calls(flow, store):
        return None
    return Store(store.op, given, store.value_node, store.how, store.nested)


def _is_told_at_calls(flow: FunctionFlow, store: Store) -> bool:
    """Does a known call that passes an attached value into another object say itself what that object keeps?"""
    if store.how == "assign":
        return False
    return any(
        kept.place.node is store.op.node and holder is not None and any(fact(a.value) is Fact.YES for a in given)
        for site in flow.program.callers.sites(flow.info).calls
        for kept, holder, given in site.op.kept
        if flow.program.path_of(holder) != "self" and not STORING.isdisjoint(flow.program.project.marks(site.flow.info))
    )


def _holder(flow: FunctionFlow, holder: Op) -> Iterator[HolderClosed]:
    stores: Sequence[Store] = holder.stores
    if holder.name == "param":
        stores = [s for s in stores if s.value.graph is Fact.YES]  # what the caller passed is told at the call
    kind = holder_kind(flow, holder) if stores else None
    stores = [s for s in stores if (kind != "container" or _grows(holder, s)) and not carries(holder, s)]
    if kind == "attribute":
        stores = [s for s in stores if not _cut_first(holder, s) and not _overwritten(holder, s)]
    if (
        kind is None
        or not stores
        or flow.info.name == "__init__"
        or (holder.name == "comprehension" and not _is_bound(holder))
    ):
        return
    if Sink.BACKWARD in sinks(holder):
        return  # what it holds is needed
    sure = [s for s in stores if fact(s.value) is Fact.YES]  # nothing less is reported: ask no callers about it
    sure = _attached(flow, [s for s in sure if not _loss_term(s)])
    if kind != "container":
        sure += [told for s in stores if (told := _told(flow, s)) is not None and not _loss_term(told)]
    if kind == "attribute":
        sure = [s for s in sure if not _walked_elsewhere(flow, s)]
    stores = sure or [s for s in stores if _buffered(flow, s, kind)]
    if not stores:
        return
    if kind == "container" and not _escapes(holder):
        stores = [s for s in stores if not returned_besides(flow, s)]
    if not stores:
        return
    name = holder.path or stores[0].op.path or _bound_name(holder)
    if not _cleared(flow, stores, name):
        ends = _holder_sinks(flow, holder, kind) | _member_sinks(flow, holder, stores)
        yield HolderClosed(flow, holder, name, kind, stores, ends)


def _cut_first(holder: Op, store: Store) -> bool:
    """Does the call begin with cutting off what the one before has left in the attribute?"""
    if store.how != "assign":
        return False
    first = (s for s in holder.stores if s.op.order < store.op.order and fact(s.value) is Fact.NO)
    return any(cuts(holder, s) for s in first)


def _overwritten(holder: Op, store: Store) -> bool:
    """Does the call always put something else into the attribute before it ends?"""
    later = (s.op for s in holder.stores if s.how == store.how == "assign" and s.op.order > store.op.order)
    return any(op.loops == store.op.loops and op.branches == store.op.branches[: len(op.branches)] for op in later)


def _buffered(flow: FunctionFlow, store: Store, kind: str) -> bool:
    """Does a scalar that is kept hold the whole elementwise buffer of its loss?"""
    return whole_buffer(store.value) is not None and not (kind == "attribute" and _walked_elsewhere(flow, store))


def _escapes(holder: Op) -> bool:
    """Does the container itself live on behind the call?"""
    return bool(sinks(holder) & {Sink.RETURNED, Sink.YIELDED, Sink.ATTRIBUTE, Sink.GLOBAL, Sink.UNKNOWN_CALL})


def returned_besides(flow: FunctionFlow, store: Store) -> bool:
    """Does the value's graph live on anyway: is what is computed from it returned towards a backward? A list that dies
    with the call adds nothing then."""
    own = set(store.value.defs)
    behind = closure(own, lambda o: [u for u in o.uses if u is not store.op] if o.passes or o in own else ())
    returned = any(Sink.RETURNED in o.sunk for o in behind)
    return returned and Sink.BACKWARD in flow.program.callers.returned(flow)


def _walked_elsewhere(flow: FunctionFlow, store: Store) -> bool:
    """Does the value go on into another attribute of a trainer, whose backward another method runs? It frees what this
    attribute's graph holds."""
    owner = flow.program.project.owner(flow.info)
    module = owner is None or flow.program.is_module(flow.program.key(owner)) is Fact.YES
    return not module and needed_elsewhere(flow, store)


def needed_elsewhere(flow: FunctionFlow, store: Store) -> bool:
    """Does the value go on into another attribute, from where a backward walks it?"""
    makers = store.value.defs if store.how == "assign" and not freed(store.value) else ()
    return any(
        Sink.ATTRIBUTE in flow.program.callers.sinks(flow, op)
        and Sink.BACKWARD in flow.program.callers.far_sinks(flow, op)
        for op in makers
    )


def _loss_term(store: Store) -> bool:
    """A loss on an attribute, one at a time, alone or as a term of the sum that this very function walks: what stays
    behind its backward is one element."""
    if store.how != "assign" or not freed(store.value) or whole_buffer(store.value) is not None:
        return False
    added = closure(store.value.defs, lambda o: [u for u in o.uses if u.name in ARITHMETIC])
    return store.value.scalar is Fact.YES or any(u.name == "backward" for o in added for u in o.uses)


def holder_kind(flow: FunctionFlow, holder: Op) -> str | None:
    """What sort of holder an operation with stores is; None for a parameter (its callers are told)."""
    if holder.name == "load" and holder.path is not None:
        root = holder.path.partition(".")[0]
        if "." in holder.path and not made_here(holder):
            return "global" if _is_global_object(holder) else "attribute"
        return "global" if "." not in holder.path and root not in {p.name for p in flow.info.parameters} else None
    if holder.name == "param":
        return "container" if flow.program.callers.sites(flow.info).calls else None
    return "container" if holder.name in LOCAL else None


def _is_global_object(holder: Op) -> bool:
    shared = holder.value.kind is Kind.CONTAINER and holder.value.shared
    return shared or (holder.receiver is not None and holder.receiver.kind in (Kind.CLASS, Kind.FUNCTION))


def outlives(holder: Op, store: Store) -> bool:
    """Is the store in a loop that the holder was made outside of?"""
    inner, outer = store.op.loops, holder.loops
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def _grows(holder: Op, store: Store) -> bool:
    """Does each iteration put in a graph of its own? Parts of a result made before the loop share that one's graph, and
    under one key the next replaces what this one put in."""
    if not outlives(holder, store) or freed(store.value) and replaced(store) or _one_pass(holder, store):
        return False
    if not store.value.defs or fact(store.value) is not Fact.YES:
        return True
    loop = store.op.loops[len(holder.loops)]
    made = closure(store.value.defs, lambda o: o.inputs if o.passes else ())
    return any(loop in o.loops and not hands_on(o) for o in made)


def _one_pass(holder: Op, store: Store) -> bool:
    """Does the loop run over modules, as over the layers or levels of a network? What these give is one pass, whose
    list is as long as there are modules."""
    around = store.op.loops[: len(holder.loops) + 1]
    for op in closure(store.value.defs, lambda o: o.inputs if o.passes else ()):
        if op.name == "module" and op.loops == around and op.receiver is not None:
            given = [o for o in op.receiver.defs if o.name == "iter" and o.value.kind is Kind.MODULE]
            if any(o.loops in (around, around[:-1]) for o in given):  # the second of `zip(…)`
                return True
    return False


def replaced(store: Store) -> bool:
    """`logs["loss"] = loss`: does each iteration replace what the one before has put in?"""
    node = store.op.node
    if store.how != "setitem" or store.nested or not isinstance(node, cst.Subscript):
        return False
    keys = [s.slice.value for s in node.slice if isinstance(s.slice, cst.Index)]
    return len(keys) == len(node.slice) and all(isinstance(k, (cst.SimpleString, cst.Integer)) for k in keys)


def _is_bound(holder: Op) -> bool:
    """Does a name or an object hold it, or is it used up in the expression that makes it?"""
    return any(
        user.name in ("bind", "return") or user.name == "store" and not (puts(user, "extend") or puts(user, "append"))
        for user in holder.uses
    )  # `rows.extend(…)` stores the members one by one and uses up the list itself; of `rows.append(…)` `rows` tells


def _bound_name(holder: Op) -> str:
    names = [user.path for user in holder.uses if user.name in ("bind", "store") and user.path]
    return names[0] if names else "the list"


def _holder_sinks(flow: FunctionFlow, holder: Op, kind: str) -> frozenset[Sink]:
    own = flow.program.callers.sinks(flow, holder)
    if kind in ("attribute", "global") and holder.path is not None:
        attribute = holder.path.rpartition(".")[2]
        own |= flow.program.callers.attribute_sinks(flow.info.path, attribute)
        return own - {Sink.ATTRIBUTE, Sink.GLOBAL}
    return own if holder.name != "param" else own | _given_sinks(flow, holder)


def _member_sinks(flow: FunctionFlow, holder: Op, stores: Sequence[Store]) -> frozenset[Sink]:
    """Where members end that are read back as the very values that were stored: what uses them behind their loop."""
    if not any(user.name == "iter" and not user.uses for user in holder.uses):
        return frozenset()
    found: set[Sink] = set()
    for store in stores:
        inner = store.op.loops
        makers = {op for value in (store.value, *known_members(store.value)) for op in value.defs}
        for user in {u for maker in makers for u in maker.uses}:
            if user.order > store.op.order and user.loops[: len(inner)] != inner:
                found |= user.sunk | flow.program.callers.sinks(flow, user)
    return frozenset(found)


def _given_sinks(flow: FunctionFlow, parameter: Op) -> frozenset[Sink]:
    """Where the containers that the callers pass end."""
    callers = flow.program.callers
    position = flow.parameters.index(parameter)
    found: set[Sink] = set()
    for site in callers.sites(flow.info).calls:
        bound = callers.bound(flow.info, site.op)
        given = bound[position] if position < len(bound) else None
        for maker in given.value.defs if given is not None else ():
            found |= callers.sinks(site.flow, maker) if maker.name in LOCAL else {Sink.UNKNOWN_CALL}
    return frozenset(found)


def _cleared(flow: FunctionFlow, stores: list[Store], name: str) -> bool:
    """Is the holder emptied, deleted or bound anew inside the loop or call in which it is filled?"""
    loops = max(len(s.op.loops) for s in stores)
    filling = {s.op for s in stores}
    for op in flow.named("clear", "del", "store", "bind"):
        if op.path == name and len(op.loops) >= loops and op not in filling:
            if op.name in ("clear", "del"):
                return True
            if op.value.kind in (Kind.CONTAINER, Kind.HOST) and (op.name == "bind" or puts(op, "assign")):
                return True
    return False


def _kept_by_callee(flow: FunctionFlow, call: Op) -> Iterator[HolderClosed]:
    """A project function that leaves its argument in an object, a container argument or a global."""
    for kept, holder, arguments in call.kept:
        own = holder.node if holder is not None else None  # what the object holds already is nothing new
        sure = [a for a in arguments if fact(a.value) is Fact.YES and a.node is not own]
        stores = _attached(flow, [Store(call, a.value, a.node, kept.how) for a in sure])
        if not stores or (holder is not None and _forgotten(call, holder.value.defs)):
            continue
        path = flow.program.path_of(holder)
        if path is not None and path == "self" and flow.info.owner is not None:
            continue  # the object's own method: the store itself is reported
        attribute = kept.path.partition(".")[2]
        if holder is not None and not attribute:
            continue  # a container argument: the store is recorded in the caller's holder
        name = f"{path}.{attribute}" if path and attribute else kept.path
        maker = holder.value.defs[0] if holder is not None and holder.value.defs else call
        ends = flow.program.callers.attribute_sinks(flow.info.path, name.rpartition(".")[2])
        yield HolderClosed(
            flow,
            maker,
            name,
            "attribute" if attribute else "global",
            stores,
            ends - {Sink.ATTRIBUTE, Sink.GLOBAL},
            by_callee=True,
            kept_at=kept.place,
        )


def _forgotten(call: Op, makers: tuple[Op, ...]) -> bool:
    """Is the object that keeps made anew in each iteration of the call's loop?"""
    return bool(makers) and all(m.loops == call.loops and m.name == "construct" for m in makers) and bool(call.loops)


# -- running totals -------------------------------------------------------------------------------------------------


def _accumulator(flow: FunctionFlow, op: Op) -> Iterator[HolderClosed]:
    """`total = total + x`: arithmetic that comes round to itself through the loop."""
    if not _outermost(op):
        return
    cycle = _cycle(op)
    if cycle is None or Sink.BACKWARD in sinks(op):
        return
    added = [a for member in cycle for a in _operands(member) if not any(d in cycle for d in a.value.defs)]
    added = [a for a in added if not _depends_on(a.value, op)]
    sure = [a for a in added if fact(a.value) is Fact.YES]
    stores = _attached(flow, [Store(op, a.value, a.node, "accumulate") for a in sure])
    name = next((u.path for u in op.uses if u.name in ("bind", "store") and u.path), None)
    if not stores or name is None or Kind.CONTAINER in (s.value.kind for s in stores):
        return
    yield HolderClosed(flow, op, name, "accumulator", stores, flow.program.callers.sinks(flow, op))


def _operands(op: Op) -> list[Argument]:
    first = [Argument(None, op.receiver, op.receiver_node)] if op.receiver and op.receiver_node is not None else []
    return [*first, *op.arguments]


def _depends_on(value: Value, op: Op) -> bool:
    """Is `value` itself computed from the total? Then it is a recurrence, not a sum."""
    return op in set(closure(value.defs, lambda o: o.inputs if o.passes else ()))


def _summed(flow: FunctionFlow, op: Op) -> Iterator[HolderClosed]:
    """`sum(step(x) for x in data)`: a running total without a name."""
    made = [m for m in op.inputs if m.name == "comprehension" and not _is_bound(m) and _computes(m)]
    stores = [Store(op, s.value, s.value_node, "accumulate") for m in made for s in _attached(flow, m.stores)]
    if stores:
        name = next((u.path for u in op.uses if u.name in ("bind", "store") and u.path), "sum(…)")
        yield HolderClosed(flow, op, name, "accumulator", stores, flow.program.callers.sinks(flow, op))


def _computes(made: Op) -> bool:
    """Does a comprehension compute its members, and not only take them out of what exists already?"""
    inner = [o for s in made.stores for o in closure(s.value.defs, lambda o: o.inputs if o.passes else ())]
    return any(len(o.loops) > len(made.loops) and o.name not in ("iter", *HANDING) for o in inner)


def _outermost(op: Op) -> bool:
    """Does a name or attribute hold the result directly?"""
    return any(user.name in ("bind", "store") for user in op.uses)


def _cycle(op: Op) -> set[Op] | None:
    """The arithmetic operations on a way from `op` back to itself; None where there is none."""
    ahead = set(closure(op.uses, lambda o: o.uses if o.name in ARITHMETIC else ()))
    if op not in ahead and not op.carried:
        return None
    behind = set(closure([op], lambda o: o.inputs if o.name in ARITHMETIC else ()))
    return {op, *(o for o in ahead & behind if o.name in ARITHMETIC)}
