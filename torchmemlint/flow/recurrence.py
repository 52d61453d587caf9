"""State carried on with its graph, and averages that record one, over iterations and calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow.cycles import OBJECTS, Course, back, carries, course, cuts, loop_trip, round_trip
from torchmemlint.flow.entering import calls, entering, handed_calls
from torchmemlint.flow.graph import Argument, Op, Sink, Store, closure, fact, sinks
from torchmemlint.flow.handed import runs_with_grad
from torchmemlint.flow.retained import flag, walked
from torchmemlint.flow.values import Fact, Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.callers import CallSite
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.index.model import FunctionInfo

CANDIDATES = 40  # functions looked through for other uses of an attribute
UNSEEN = frozenset({Sink.RETURNED, Sink.YIELDED, Sink.UNKNOWN_CALL})
UPDATES = frozenset(f"torch.{n}_" for n in "add sub mul div lerp copy addcmul addcdiv".split())
LINEAR = frozenset(
    "torch.mean torch.sum torch.view torch.reshape torch.flatten torch.t torch.transpose torch.permute "
    "torch.squeeze torch.unsqueeze torch.clone torch.to torch.float torch.add torch.sub".split()
)


@dataclass(frozen=True)
class Carried:
    """A value that comes back into its own computation attached to the graph."""

    op: Op  # where it stands: the store, or the call that the state goes through
    name: str
    course: Course
    value: Value
    sure: bool  # grad is surely on, and all readers are in sight
    saves: bool = True  # does each round save tensors, or graph nodes in host memory only?
    retained: Op | None = None  # the backward call that retains the graph for the next round
    store: Store | None = None
    added: tuple[Argument, ...] = ()  # operands of an average that bring the graph in


def stored(flow: FunctionFlow) -> Iterator[Carried]:
    """Recurrences through an attribute, a global or an item of one."""
    for holder in flow.named("load"):
        for store in holder.stores:
            found = _stored(flow, holder, store) if carries(holder, store) else None
            if found is not None and runs_with_grad(flow, store.op):
                yield found


def _stored(flow: FunctionFlow, holder: Op, store: Store) -> Carried | None:
    trip = round_trip(holder, store)
    kind = course(trip)
    own = set(closure(store.value.defs, lambda o: () if o is holder else back(o)))  # not what other keys hold
    brings = tuple(_added(flow, trip & own)) if kind is Course.AVERAGE else ()
    if (entering(flow, store.value) if kind is Course.MODULE else _strongest(flow, brings)) is not Fact.YES:
        return None
    ends = _ends(flow, holder)
    again = _walked_again(flow, store, trip) if Sink.BACKWARD in ends and kind is Course.MODULE else None
    if Sink.BACKWARD in ends and again is None or cut_elsewhere(flow, holder, store):
        return None
    known = not ends & UNSEEN and flow.program.callers.entered(flow.info) is not Fact.MAYBE
    sure = known or again is not None
    saves = kind is Course.MODULE or any(_saves(flow, a.value, trip) for a in brings)
    return Carried(store.op, holder.path or "", kind, store.value, sure, saves, again, store, brings)


def _walked_again(flow: FunctionFlow, store: Store, trip: frozenset[Op]) -> Op | None:
    """The backward call that retains the graph so that the next call's backward can walk it too: in the function
    itself, or where a loop runs it; None where the loop starts from a new state each time."""
    sites = [*calls(flow), *handed_calls(flow)]
    own = next((b for b in flow.named("backward") if flag(b, "retain_graph") and trip & walked(b)), None)
    if own is not None:
        return None if any(_set_anew(site, store) for site in sites) else own
    for site in sites:
        made = site.flow.frame.table.get((id(site.op.node), "module"), site.op)
        walks = [b for b in site.flow.named("backward") if set(b.loops) & set(made.loops) and flag(b, "retain_graph")]
        found = next((b for b in walks if made in walked(b)), None)
        if found is not None and not _set_anew(site, store):
            return found
    return None


def _set_anew(site: CallSite, store: Store) -> bool:
    """Does the loop around a call set the state itself, or call a method of the object that does?"""
    program, attribute = site.flow.program, (store.op.path or "").rpartition(".")[2]
    inner = [op for op in site.flow.named("call", "store") if op.loops and op.loops == site.op.loops]
    if any(op.name == "store" and (op.path or "").endswith("." + attribute) for op in inner):
        return True
    others = (program.called(op) for op in inner if op.name == "call" and op.callee != site.op.callee)
    summaries = (program.summary(info, ()) for info in others if info is not None)
    return any(f"self.{attribute}" in summary.written for summary in summaries if summary is not None)


def _strongest(flow: FunctionFlow, brings: tuple[Argument, ...]) -> Fact:
    return max((_brings(flow, a.value) for a in brings), default=Fact.NO)


def _added(flow: FunctionFlow, trip: frozenset[Op]) -> Iterator[Argument]:
    """The operands of an average, other than its former value, that carry a graph or are weights in training."""
    for op in sorted(trip, key=lambda o: o.order):
        for argument in _operands(op):
            inside = any(maker in trip or maker.name == "load" and maker.stores for maker in argument.value.defs)
            if not inside and _brings(flow, argument.value) is Fact.YES:
                yield argument


def _operands(op: Op) -> list[Argument]:
    """The arguments, and the first operand of a function of torch: `torch.lerp(weight, average, decay)`."""
    if not op.name.startswith("torch.") or op.receiver is None or op.receiver_node is None:
        return list(op.arguments)
    return [*op.arguments, Argument(None, op.receiver, op.receiver_node)]


def _brings(flow: FunctionFlow, value: Value) -> Fact:
    if value.kind in OBJECTS:
        return Fact.NO
    return Fact.YES if weights(value) else entering(flow, value)


def weights(value: Value) -> list[Op]:
    """The `parameters()` calls of trainable modules, and groups of an optimizer, whose members the value is computed
    from."""
    behind = [op for op in closure(value.defs, back) if op.name in ("parameters", "item")]
    calls = [op for op in behind if op.receiver is not None and op.receiver.trainable is not Fact.NO]
    return [op for op in calls if op.name == "parameters"] + [op for op in behind if _is_group(op)]


def _is_group(op: Op) -> bool:
    """`group["params"]` of a member of an optimizer's `param_groups`."""
    groups = closure(op.inputs, lambda o: o.inputs if o.name in ("iter", "bind") else ())
    named = op.name == "item" and any((o.path or "").endswith(".param_groups") for o in groups if o.name == "load")
    return named and op.unit.text(op.node).endswith(("['params']", '["params"]'))


def _saves(flow: FunctionFlow, value: Value, trip: frozenset[Op]) -> bool:
    """Does an operation that only the average's graph reaches save tensors for its backward?"""
    for op in closure(value.defs, back):
        if op in trip or Sink.BACKWARD in sinks(op) or op.name in LINEAR:
            continue
        if op.name in ("module", "custom", "torch.matmul"):
            return True
        known = knowledge.operator(op.name.removeprefix("torch.")) if op.name.startswith("torch.") else None
        if known is not None and known.saves and op.value.graph | bool(op.value.params):
            return True
    return False


def _ends(flow: FunctionFlow, holder: Op) -> frozenset[Sink]:
    callers = flow.program.callers
    ends = callers.sinks(flow, holder)
    if holder.path is not None:
        ends |= callers.attribute_sinks(flow.info.path, holder.path.rpartition(".")[2])
    return ends - {Sink.ATTRIBUTE, Sink.GLOBAL}


def cut_elsewhere(flow: FunctionFlow, holder: Op, own: Store) -> bool:
    """Is the state detached, or handed through a helper, by another statement that reads and stores it?"""
    attribute = (holder.path or "").rpartition(".")[2]
    readers = flow.program.project.attribute_readers(attribute, flow.info.path)
    if len(readers) > CANDIDATES:
        return True
    for reader in readers:
        if not _same_family(flow, reader, holder):
            continue
        other = flow if reader == flow.info else flow.program.flow(reader)
        for load in other.named("load") if other is not None else ():
            if (load.path or "").rpartition(".")[2] != attribute:
                continue
            if any(use.name == "torch.detach_" for use in load.uses):
                return True
            if any(s.op.node is not own.op.node and cuts(load, s) for s in load.stores):
                return True
    return False


def _same_family(flow: FunctionFlow, reader: FunctionInfo, holder: Op) -> bool:
    """May a method's `self.x` be the attribute of the holder's object? Not where the classes have nothing in common."""
    project = flow.program.project
    mine = project.owner(flow.info)
    theirs = project.owner(reader)
    own = flow.parameters[0].path if flow.parameters else None
    if mine is None or theirs is None or (holder.path or "").partition(".")[0] != own or mine == theirs:
        return True
    return mine in project.mro(theirs) or theirs in project.mro(mine)


# -- loops ----------------------------------------------------------------------------------------------------------


def looped(flow: FunctionFlow) -> Iterator[Carried]:
    """State that a loop hands from iteration to iteration through one module."""
    for op in flow.named("module", "call"):
        trip = loop_trip(op) if op.loops and fact(op.value) is Fact.YES else ()
        if not trip or not _one_module(op) or any(o.name in ("store", "load") for o in trip):
            continue
        if not runs_with_grad(flow, op):
            continue
        found = _looped(flow, op, trip)
        if found is not None:
            yield found


def _one_module(op: Op) -> bool:
    """Is the module the same in each iteration? A stack of layers is no recurrence."""
    called = op.receiver if op.name == "module" else None
    if called is None:
        return op.name == "call"
    varies = closure(called.defs, lambda o: o.inputs if o.name in ("iter", "item", "read", "literal.list") else ())
    return not any(o.name == "iter" and set(o.loops) & set(op.loops) for o in varies)


def _looped(flow: FunctionFlow, op: Op, trip: frozenset[Op]) -> Carried | None:
    carried = (a.node for a in op.arguments if trip.intersection(a.value.defs))
    name = next((flow.unit.text(node) for node in carried if isinstance(node, cst.Name)), "the state")
    walks = [b for b in flow.named("backward") if set(b.loops) & set(op.loops)]
    through = [b for b in walks if op in walked(b) and not _begun_anew(flow, op, trip, b)]
    for backward in through:
        if flag(backward, "retain_graph") or flag(backward, "create_graph"):
            return Carried(op, name, Course.MODULE, op.value, flag(backward, "retain_graph"), True, backward)
    ends = flow.program.callers.sinks(flow, op)
    if Sink.BACKWARD in ends or ends & (UNSEEN | {Sink.ATTRIBUTE, Sink.GLOBAL}):
        return None
    return Carried(op, name, Course.MODULE, op.value, bool(walks))


def _begun_anew(flow: FunctionFlow, op: Op, trip: frozenset[Op], backward: Op) -> bool:
    """Does the loop with the backward set the state anew each time, before an inner loop carries it on?"""
    if op.loops[-1] in backward.loops:
        return False
    names = {user.path for o in trip for user in o.uses if user.name == "bind"}
    binds = [b for b in flow.named("bind") if b.path in names and b.loops == backward.loops and b.order < op.order]
    return any(trip.isdisjoint(b.inputs) for b in binds)


# -- weights updated in place ------------------------------------------------------------------------------------------


def updates(flow: FunctionFlow) -> Iterator[Carried]:
    """Weights of one module moved in place towards those of another, with grad on."""
    for op in flow.ops:
        target = _target(op) if op.name in UPDATES else None
        brought = tuple(a for a in op.arguments if _others(a.value, target)) if target is not None else ()
        if not brought or not runs_with_grad(flow, op):
            continue
        sure = flow.program.callers.entered(flow.info) is not Fact.MAYBE or not flow.info.name
        yield Carried(op, _name(op), Course.AVERAGE, op.value, sure, False, None, None, brought)


def _target(op: Op) -> Op | None:
    """The `parameters()` call whose member is updated; None where it goes through `.data` or `.detach()`."""
    receiver = op.receiver
    for maker in closure(receiver.defs if receiver is not None else (), _receivers):
        if maker.name == "parameters":
            return maker
    return None


def _receivers(op: Op) -> Sequence[Op]:
    if op.name in UPDATES:
        return list(op.receiver.defs) if op.receiver is not None else []
    return op.inputs if op.name in ("iter", "item") else []


def _others(value: Value, target: Op | None) -> bool:
    found = weights(value)
    return bool(found) and target not in found and value.kind is not Kind.HOST


def _name(op: Op) -> str:
    makers = op.receiver.defs if op.receiver is not None else ()
    for maker in closure(makers, _receivers):
        for use in maker.uses:
            if use.name == "bind" and use.path and maker.name == "iter":
                return use.path
    return "the copy"


# -- weights rebuilt by a comprehension --------------------------------------------------------------------------------


def rebuilt(flow: FunctionFlow) -> Iterator[Carried]:
    """Weights that each iteration computes anew from those of the iteration before, starting from live parameters."""
    for op in flow.named("comprehension"):
        trip = loop_trip(op) if op.loops and op.stores else ()
        if not any(o.name == "arith" or o.name.startswith("torch.") for o in trip):
            continue  # put in order or looked up, not computed
        store = op.stores[0]
        if not weights(store.value) or store.value.kind in OBJECTS or not runs_with_grad(flow, op):
            continue
        ends = flow.program.callers.sinks(flow, op)
        if Sink.BACKWARD not in ends:
            name = next((u.path for u in op.uses if u.name == "bind" and u.path), "the weights")
            yield Carried(op, name, Course.AVERAGE, op.value, not ends & UNSEEN)
