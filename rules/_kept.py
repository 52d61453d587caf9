"""What TML101 to TML104 share: is a kept value needed, what does it cost, how is it mended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchmemlint.findings import Place, Severity
from torchmemlint.fixes import Plan, call_method, combine
from torchmemlint.flow.buffers import whole_buffer
from torchmemlint.flow.classes import loads
from torchmemlint.flow.events import HolderClosed
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Op, Sink, Store, closure, fact, freed, origin, saves_nothing, sources
from torchmemlint.flow.keeping import needed_elsewhere, replaced, returned_besides
from torchmemlint.flow.lifetimes import applied_flow
from torchmemlint.flow.mixing import mixed
from torchmemlint.flow.patterns import alone
from torchmemlint.flow.readback import goes_on, read_here, taken_up_detached, walked_by_name
from torchmemlint.flow.recurrence import cut_elsewhere
from torchmemlint.flow.scalars import compared
from torchmemlint.flow.values import Fact, Kind, Value, known_members
from torchmemlint.index.marks import GRAPHS, KEEPS

ATTACHING = frozenset({GRAPHS, KEEPS, "backward", "requires_grad", "requires_grad_", "Parameter"})
"""One of these is in every function whose values may carry a graph."""
NEEDED = frozenset({Sink.BACKWARD})
BUFFER = "the whole elementwise buffer of its loss, on whose storage the scalar lies, also when detached"
TO_HOST = frozenset("host return torch.cpu torch.numpy torch.item torch.tolist torch.detach torch.to".split())
PARTS = frozenset({"load", "item", "bind"})
OWN = "the forward's output and what was computed from it; its backward has freed the activations"
OUT_OF_SIGHT = frozenset({Sink.RETURNED, Sink.YIELDED, Sink.UNKNOWN_CALL, Sink.ATTRIBUTE, Sink.GLOBAL})
HANDED_ON = frozenset({Sink.RETURNED, Sink.YIELDED})
"""Who gets the holder may go on to train with what is in it, unless the function itself trains."""


@dataclass(frozen=True)
class Verdict:
    """What one store keeps: how bad it is, in words, and its mend."""

    store: Store
    severity: Severity
    bytes: str  # which bytes are held
    fix: Plan | None
    related: tuple[tuple[str, Place], ...]

    @property
    def which(self) -> str:
        """Whose graph is held."""
        return "the last iteration, through the next" if replaced(self.store) else "each iteration"

    @property
    def held(self) -> str:
        """What is kept: of a detached scalar it may be its storage alone."""
        return "the autograd graph" if fact(self.store.value) is Fact.YES else "the storage of the loss"

    @property
    def node(self) -> cst.CSTNode:
        """Where the finding stands."""
        return self.store.op.node


def verdicts(event: HolderClosed) -> Iterator[Verdict]:
    """A verdict for each store that surely keeps a graph which nothing needs."""
    if event.sinks & NEEDED or event.kind == "attribute" and event.stores and walked_by_name(event.function):
        return
    visible = not event.sinks & OUT_OF_SIGHT
    for store in event.stores:
        if _handed_to_backward_elsewhere(store) or _other_member(store):
            continue
        if event.kind == "attribute" and store.how == "assign" and taken_up_detached(event.function, store):
            continue  # the last call's state
        if fact(store.value) is Fact.YES:
            walked = event.kind == "attribute" and store.how == "assign" and returned_besides(event.function, store)
            if walked and cut_elsewhere(event.function, event.holder, store):
                continue  # state that is detached between the steps
            beside = event.kind == "attribute" and not walked and needed_elsewhere(event.function, store)
            severity, what = cost(store.value, walked=walked or beside)
            if walked and store.value.scalar is not Fact.YES:
                severity = Severity.WARNING
            if severity is Severity.HINT and _returns_output(event, store.value):
                severity, what = Severity.WARNING, "outputs in it keep their own bytes; its backward has freed the rest"
            handed_on = event.sinks & HANDED_ON and not event.function.runs_backward
            needed = handed_on or goes_on(event.function, store, store.op.path or event.name)
            fix = None if needed else mend(store, safe=visible, moved=_may_move(event, store, visible))
        elif whole_buffer(store.value) is not None and store.how != "accumulate":
            severity, what, fix = Severity.WARNING, BUFFER, clone(store)
        else:
            continue
        yield Verdict(store, severity if visible else Severity.HINT, what, fix, related(event, store))


def clone(store: Store) -> Plan | None:
    """A clone of a scalar has a storage of its own."""
    if store.value_node is None or store.value.kind is not Kind.TENSOR:
        return None
    return Plan("keep a copy of the scalar alone", call_method(store.value_node, "clone").steps)


def _handed_to_backward_elsewhere(store: Store) -> bool:
    """Values of one policy update or of one step are consumed with it; a holder of modules keeps no graph."""
    return store.value.kind in (Kind.MODULE, Kind.OPTIMIZER)


def cost(value: Value, *, walked: bool = False) -> tuple[Severity, str]:
    """Severity and the bytes that keeping `value` holds, by what is known of its backward, which a caller may run
    (`walked`), and its size."""
    walked = walked or freed(value)
    if walked and whole_buffer(value) is not None:
        return Severity.WARNING, BUFFER
    if value.scalar is Fact.YES and (walked or _scalars_alone(value) and _forward_is_freed(value)):
        return Severity.HINT, "the nodes of its graph in host memory; its backward has freed the activations"
    if not walked and _copied_to_host(value):
        return Severity.HINT, "a copy in host memory and the nodes of its graph; its backward has freed the activations"
    if not walked:
        return Severity.ERROR, OWN if _forward_is_freed(value) else "every activation of its forward pass"
    if value.scalar is Fact.NO or value.scalar is Fact.MAYBE and (compared(value) or _holds_output(value)):
        return Severity.WARNING, "its own bytes on the device; its backward has freed the activations"
    return Severity.HINT, "its own bytes and the nodes of its graph; its backward has freed the activations"


def _returns_output(event: HolderClosed, value: Value) -> bool:
    """Is it the dict or tuple that a function of the project returns, with an output of its forward in it?"""
    calls = [op for op in value.defs if op.name == "call"] if value.kind is Kind.CONTAINER else []
    inner = [applied_flow(event.function, op) for op in calls]
    return any(_holds_output(given) for callee in inner if callee is not None for given in callee.frame.returns)


def _holds_output(value: Value) -> bool:
    """Is one of the known members of a tuple or dict a tensor of more than one element, with the graph?"""
    for member in known_members(value):
        if fact(member) is Fact.YES and (member.scalar is Fact.NO or _holds_output(member)):
            return True
        if (fact(member) is not Fact.NO or member.params) and member.scalar is Fact.MAYBE and compared(member):
            return True
    return False


def _forward_is_freed(value: Value) -> bool:
    """Has a backward freed all forwards behind the value, and only what was computed from their results is left?"""
    behind = list(closure(value.defs, lambda o: o.inputs if o.passes else ()))
    forwards = [op for op in behind if op.name in ("module", "call", "?call", "custom")]
    return any(op.freed for op in behind) and all(op.freed for op in forwards)


def _copied_to_host(value: Value) -> bool:
    """Was it moved to the CPU, and has nothing else than the forward, which a backward has freed, saved tensors?"""
    if value.device != "cpu" or not _forward_is_freed(value):
        return False
    behind = closure(value.defs, lambda o: () if o.freed or not o.passes else o.inputs)
    return all(op.freed or op.name in PARTS or saves_nothing(op) for op in behind if op.value.fact is not Fact.NO)


def _scalars_alone(value: Value) -> bool:
    """Beyond what a backward has freed, was it computed from scalars only? (Else it may save batches anew.)"""
    behind = closure(value.defs, lambda op: () if op.freed or not op.passes else sources(op))
    return all(op.value.scalar is Fact.YES for op in behind if op.value.fact is not Fact.NO)


def _may_move(event: HolderClosed, store: Store, visible: bool) -> bool:
    """Is no reader known to need the value on its device? Of a container all readers must be known."""
    if event.kind == "container":
        return visible and not mixed(event.function, event.holder)
    here = read_here(event.function, store, store.op.path or event.name)
    return not here and not _computed_with(event, store)


def _computed_with(event: HolderClosed, store: Store) -> bool:
    """Does anything compute with the attribute, beside other tensors of the device?"""
    if event.kind != "attribute" or store.how != "assign":
        return False
    program, path = event.function.program, event.function.info.path
    attribute = event.name.rpartition(".")[2]
    flows = [program.flow(reader) for reader in program.project.attribute_readers(attribute, path)]
    read = [op for flow in flows if flow is not None for op in loads(flow, attribute)]
    return any(user.name not in TO_HOST for op in read for user in op.consumers)


def mend(store: Store, *, safe: bool, moved: bool) -> Plan | None:
    """Detach what is stored: the value itself, or the attached members of a tuple or list display; `moved`: and move
    what is no single number to the CPU."""
    node = store.value_node
    if node is None or _used_besides(store):
        return None
    nodes = _attached_nodes(node, store.value)
    if not nodes:
        return None
    moved = moved and store.how != "accumulate"  # a sum stays where its other operand is
    if moved and store.value.scalar is not Fact.YES and not isinstance(node, (cst.Tuple, cst.List)):
        plan = call_method(nodes[0], "detach().cpu")  # detached it would still hold its own bytes
        return Plan("move what is kept to the CPU, without its graph", plan.steps, False, "readers get a CPU tensor")
    plans = [call_method(n, "detach") for n in nodes]
    reason = "" if safe else "code out of sight may still use the graph"
    whole = combine(plans, "detach before it is kept") if len(plans) > 1 else plans[0]
    return Plan("detach before it is kept", whole.steps, safe, reason)


def _used_besides(store: Store) -> bool:
    """Is it a call that stores an argument, and may do more with it than that?"""
    op = store.op
    if op.name not in ("call", "module"):
        return False
    return store.value.kind is Kind.CONTAINER or not (alone(op) or fact(op.value) is Fact.NO)


def _attached_nodes(node: cst.BaseExpression, value: Value) -> list[cst.BaseExpression]:
    if isinstance(node, (cst.Tuple, cst.List)):
        members = value.elements if isinstance(value.elements, tuple) else ()
        pairs = list(zip(node.elements, members)) if len(members) == len(node.elements) else []
        return [n for element, member in pairs for n in _attached_nodes(element.value, member)]
    if isinstance(node, (cst.Dict, cst.GeneratorExp, cst.ListComp, cst.DictComp, cst.StarredElement)):
        return []
    known = value.kind is Kind.TENSOR or (bool(value.defs) and all(_proven(node, op) for op in value.defs))
    return [node] if known and fact(value) is Fact.YES else []


def _other_member(store: Store) -> bool:
    """Is what is added up one of several members of an unknown result, of which a backward proves another to have a
    graph? Beside a loss that is mostly a count."""
    added = [(store.value, store.value_node)] if store.how == "accumulate" else []
    if store.how == "assign" and isinstance(store.op.node, cst.Name):
        sums = [op for op in store.value.defs if op.name == "arith" and isinstance(op.node, cst.AugAssign)]
        added = [(a.value, a.node) for op in sums for a in op.arguments if fact(a.value) is not Fact.NO]
    return bool(added) and all(node is not None and _unnamed(value, node) for value, node in added)


def _unnamed(value: Value, node: cst.BaseExpression) -> bool:
    """Is it a result of calls whose graph a backward proves under another name alone?"""
    calls = [op for op in value.defs if op.name in ("call", "?call") and op.proven and not _proven(node, op)]
    return value.graph is not Fact.YES and bool(calls) and len(calls) == len(value.defs)


def _proven(node: cst.BaseExpression, op: Op) -> bool:
    """Does a backward call prove that `node` is a tensor? Of several members of one result, only the one it names."""
    members = {use.path for use in op.uses if use.name == "bind"}
    return op.proven and (len(members) < 2 or dotted(node) in set(_walked(op)))


def _walked(op: Op) -> Iterator[str | None]:
    """The names on which a backward is called for the graph of `op`'s result."""
    for use in op.uses:
        if use.name == "backward" and isinstance(use.node, cst.Call):
            given = [use.receiver_node, *(a.node for a in use.arguments)]
            own = use.node.func.value if isinstance(use.node.func, cst.Attribute) else None
            yield from (dotted(part) for part in (*given, own) if part is not None)


def related(event: HolderClosed, store: Store) -> tuple[tuple[str, Place], ...]:
    """Second spans: where the graph came from, where the holder was made."""
    spans = []
    source = origin(store.value)
    if source is not None and source.node is not store.op.node:
        spans.append(("the graph is attached here", Place(source.unit, source.node)))
    if event.kept_at is not None:
        spans.append(("it is kept here", event.kept_at))
    if event.kind == "container" and event.holder.node is not store.op.node:
        spans.append((f"`{event.name}` is made here", Place(event.holder.unit, event.holder.node)))
    return tuple(spans)
