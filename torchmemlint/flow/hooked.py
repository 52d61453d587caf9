"""What hooks keep: their functions interpreted once more, with what PyTorch hands to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.emptied import emptying_functions
from torchmemlint.flow.function import Assumption, interpret
from torchmemlint.flow.graph import Mode, Op, Sink, Store, closure, fact
from torchmemlint.flow.handed import runs_with_grad
from torchmemlint.flow.hooks import REGISTERS, Registration, dropped, registering, registrations, value_of
from torchmemlint.flow.keeping import holder_kind
from torchmemlint.flow.units import own_parameters
from torchmemlint.flow.values import Fact, Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.index.model import FunctionInfo

REDUCING = frozenset(
    f"torch.{n}"
    for n in "mean sum std var norm max min amax amin argmax argmin median any all count_nonzero histc "
    "bincount numel size item logsumexp".split()
)
OVERWRITING = frozenset({"assign", "setitem", "update", "extend dict"})
UNSEEN = frozenset({Sink.RETURNED, Sink.YIELDED, Sink.UNKNOWN_CALL})


@dataclass(frozen=True)
class KeptByHook:
    """A tensor that a hook puts into something which outlives the call."""

    flow: FunctionFlow  # the hook's interpretation
    registration: Registration
    store: Store
    name: str  # of the holder, as the user writes it
    grows: bool  # one more tensor each call, or the last one only
    whole: bool  # of the size of an activation, on its device
    attached: bool
    gradient: bool  # a gradient, not an activation
    needed: bool  # a loss is computed from it
    unseen: bool  # code out of sight reads it
    emptied: bool  # something takes the tensors out again, in some other place
    by_backward: bool  # only the backward hooks do, which no forward without a backward runs
    grad: Fact  # does the forward run with grad on?
    local: bool  # the holder is a variable of the registering function


def kept(flow: FunctionFlow) -> Iterator[KeptByHook]:
    """What the hooks in, or being, this function keep."""
    program = flow.program
    if not any(program.project.mentioned(word, flow.info.path) for word in REGISTERS):
        return
    given = _Given(flow)
    if not given.found:
        return
    run = interpret(program, flow.info, Assumption((), {}, given.handed, given.nested))
    for holder in run.ops:
        for store in holder.stores:
            entry = given.source(run, store)
            if entry is not None and store.value.kind is not Kind.HOST:
                found = _kept(flow, run, holder, store, *entry)
                if found is not None:
                    yield found


class _Given:
    """Which parameters of a function, and of the functions nested in it, are filled by PyTorch, and with what."""

    def __init__(self, flow: FunctionFlow) -> None:
        self.flow = flow
        self.handed: dict[int, Value] = {}
        self.nested: dict[cst.CSTNode, tuple[Value, ...]] = {}
        self.found: list[tuple[Registration, cst.CSTNode | None]] = []
        for registration in self._registrations():
            self._add(registration)

    def _registrations(self) -> Iterator[Registration]:
        flow, program = self.flow, self.flow.program
        for registration in registrations(flow):
            if registration.callback.nested is not None:
                yield registration
        for info in registering(program, flow.info.path) if flow.info.name else ():
            if not program.project.names(info, flow.info.name) and info != flow.info:
                continue
            other = flow if info == flow.info else program.flow(info)
            for registration in registrations(other) if other is not None else ():
                if flow.info in (registration.callback.function, registration.callback.factory):
                    yield registration

    def _add(self, registration: Registration) -> None:
        callback = registration.callback
        values = tuple(map(value_of, registration.parameters))
        if callback.function is not None:
            self.handed.update((position + callback.bound, value) for position, value in enumerate(values))
            self.found.append((registration, None))
        elif callback.nested is not None:
            self._nest(registration, callback.nested.node, (*[Value()] * callback.bound, *values))
        else:
            for value in self.flow.frame.returns:
                if value.kind is Kind.FUNCTION and value.const in self.flow.frame.closures:
                    self._nest(registration, value.const, values)

    def _nest(self, registration: Registration, node: cst.CSTNode, values: tuple[Value, ...]) -> None:
        self.nested[node] = values
        self.found.append((registration, node))

    def source(self, run: FunctionFlow, store: Store) -> tuple[Registration, Op, bool] | None:
        """The registration whose hook makes the store, what it was handed, and whether that is kept whole."""
        handed = {*run.named("handed"), *(op for i, op in enumerate(run.parameters) if i in self.handed)}
        handed = {op for op in handed if op.value.kind is not Kind.MODULE}
        reached = [op for op in closure(store.value.defs, _operands) if op in handed]
        if not reached:
            return None
        registration = next((r for r, node in self.found if node is None or _within(node, reached[0].node)), None)
        if registration is None:
            return None
        whole = any(op in handed for op in closure(store.value.defs, lambda o: [] if _reduces(o) else _operands(o)))
        return registration, reached[0], whole and store.value.device != "cpu"


def _operands(op: Op) -> list[Op]:
    return [maker for maker in op.inputs if maker.name != "store"]


def _within(node: cst.CSTNode, parameter: cst.CSTNode) -> bool:
    params = getattr(node, "params", None)
    return params is not None and parameter in own_parameters(params)


def _reduces(op: Op) -> bool:
    """Is the result small, or made by code that nothing is known of?"""
    value = op.value
    if op.name == "?call" and not (op.callee or "").startswith("?."):
        return True
    return op.name in REDUCING or value.scalar is Fact.YES or value.device == "cpu" or value.kind is Kind.HOST


def _kept(
    flow: FunctionFlow, run: FunctionFlow, holder: Op, store: Store, registration: Registration, source: Op, whole: bool
) -> KeptByHook | None:
    kind = holder_kind(run, holder)
    local = kind == "container" and holder.depth == 0 and flow.info == registration.flow.info
    if kind is None or (kind == "container" and (holder.depth > 0 or holder.name == "comprehension")):
        return None
    if local and not _outlasts(registration, holder):
        return None
    path = holder.path or store.op.path or "the list"
    ends = flow.program.callers.sinks(run, holder)
    emptied, by_backward = False, False
    if kind != "container":
        attribute = path.rpartition(".")[2]
        ends = (ends | flow.program.callers.attribute_sinks(flow.info.path, attribute)) - {Sink.ATTRIBUTE, Sink.GLOBAL}
        emptying = emptying_functions(flow, attribute)
        emptied = emptying is None or bool(emptying)
        by_backward = bool(emptying) and all(_in_backward(flow, info) for info in emptying or ())
    grows = store.how not in OVERWRITING or store.nested
    gradient = source.value.graph is Fact.NO
    return KeptByHook(
        run,
        registration,
        store,
        path,
        grows,
        whole,
        fact(store.value) is Fact.YES and not gradient,
        gradient,
        Sink.BACKWARD in ends,
        bool(ends & UNSEEN),
        emptied,
        by_backward,
        _grad(registration),
        local,
    )


def _outlasts(registration: Registration, holder: Op) -> bool:
    """Does a loop of the registering function run the hook again and again while a list of its own collects?"""
    flow = registration.flow
    loops = {loop for op in flow.named("module", "backward") for loop in op.loops if op.order > registration.op.order}
    cleared = {loop for op in flow.named("clear", "bind") if op.path == holder.path for loop in op.loops}
    return (
        bool(loops - set(holder.loops) - cleared)
        and any(op.name == "backward" for op in flow.ops)
        and dropped(registration.op)
    )


def _in_backward(flow: FunctionFlow, info: FunctionInfo) -> bool:
    """Is the function called by a backward hook?"""
    program = flow.program
    named = (other for other in registering(program, flow.info.path) if program.project.names(other, info.name))
    flows = map(program.flow, named)
    found = (r for other in flows if other is not None for r in registrations(other))
    return any(info in (r.callback.function, r.callback.factory) and "gradients" in r.parameters for r in found)


def _grad(registration: Registration) -> Fact:
    """Do the forwards that the hook sees run with grad on?"""
    flow = registration.flow
    forwards = flow.named("module")
    if forwards:
        return Fact.YES if any(runs_with_grad(flow, op) for op in forwards) else Fact.NO
    if any(op.mode is Mode.OFF for op in flow.named("?call")):
        return Fact.MAYBE
    return Fact.YES if flow.program.project.mentioned("backward", flow.info.path) else Fact.MAYBE


def told(found: KeptByHook) -> KeptByHook:
    """The same with the graph left out where grad is surely off."""
    return replace(found, attached=False) if found.grad is Fact.NO else found
