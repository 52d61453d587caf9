"""Names that outlive their use: which of the values that are held dead over a peak are worth a word, and how far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from torchmemlint.flow.enclosing import around
from torchmemlint.flow.endings import dropped
from torchmemlint.flow.graph import Mode, Op, Sink, closure, sinks
from torchmemlint.flow.liveness import Held, Weight, liveness
from torchmemlint.flow.summary import plain
from torchmemlint.flow.terms import terms_held
from torchmemlint.flow.values import Fact, Kind, replace
from torchmemlint.registry import role

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

FORWARDS = frozenset({"module", "call", "backward"})
CHECKPOINTS = frozenset({"checkpoint", "state_dict"})  # TML602


class Span(Enum):
    """How long a dead value is held."""

    GRAPH = "graph"  # a graph that no backward frees, over a later forward or backward
    TRAINING = "training"  # made before a loop, dead through all of it
    VALIDATION = "validation"  # of the training step, through an evaluation
    BRANCH = "branch"  # made in a branch, until the branch is taken again
    NEXT = "next"  # until the same statement runs in the next iteration
    UNREAD = "unread"  # bound and never read at all
    TERMS = "terms"  # of a sum, while what follows from the sum is computed
    REPLACED = "replaced"  # a model, while its successor is made


@dataclass(frozen=True)
class Lingering:
    """One or more names, bound by one statement, that hold dead values over `peak`."""

    span: Span
    held: tuple[Held, ...]
    peak: Op

    @property
    def weight(self) -> Weight:
        """Of the heaviest."""
        return max(h.weight for h in self.held)


def lingering(flow: FunctionFlow) -> Iterator[Lingering]:
    """The names of a function that outlive their use, one entry a binding statement and span."""
    terms = terms_held(flow)
    if terms:
        yield Lingering(Span.TERMS, terms, terms[0].peak)
    if role(flow.info) in ("forward", "init"):
        return
    groups: dict[tuple[int, Span], list[Held]] = {}
    for bind, holds in liveness(flow).holdings().items():
        for held in holds:
            span = _span(flow, bind, held)
            if span is not None:
                groups.setdefault((id(bind.statement), span), []).append(held)
                break
    for (_, span), group in groups.items():
        yield Lingering(span, tuple(group), group[0].peak)


def _span(flow: FunctionFlow, bind: Op, held: Held) -> Span | None:
    """What kind of span the peak `held.peak` shows, if any."""
    peak, weight = held.peak, held.weight
    if weight is Weight.MODEL:
        return _of_module(flow, bind, held) if bind.value.kind is Kind.MODULE else _of_copy(flow, bind, held)
    if peak.name not in FORWARDS or weight < Weight.BATCH:
        return None
    if weight < Weight.ACTIVATION and (held.carried or peak.name != "call" or peak.loops != bind.loops):
        return None
    if not _computes(flow, peak):
        return None
    if weight is Weight.GRAPH:
        return Span.GRAPH if _leaks(flow, bind) else None
    if weight >= Weight.ACTIVATION and not liveness(flow).readers(bind):
        return Span.UNREAD if peak.name in ("module", "backward") else None
    deeper = len(peak.loops) > len(bind.loops) and peak.loops[: len(bind.loops)] == bind.loops
    if not held.carried:
        if deeper and weight >= Weight.ACTIVATION and _trains_in(flow, peak.loops[: len(bind.loops) + 1]):
            used = any(b.loops == bind.loops for b in flow.named("backward")) or _read_in_loop(flow, bind, peak)
            return None if used else Span.TRAINING
        if bind.loops and peak.loops == bind.loops and peak.name == "call" and _evaluates(flow, peak):
            return Span.VALIDATION
        return None
    if weight < Weight.ACTIVATION or not _near(bind):
        return None
    if peak.name == ("backward" if _trains_in(flow, peak.loops) else "module") and _branched(bind, peak):
        return Span.BRANCH
    return Span.NEXT if _costs(flow, bind, peak) else None


def _read_in_loop(flow: FunctionFlow, bind: Op, peak: Op) -> bool:
    """Is the value read in the loop of the peak, before a branch of the loop binds the name anew?"""
    loop = flow.frame.numbered(peak.loops[len(bind.loops)])
    return any(loop in around(flow, node) for node in liveness(flow).readers(bind))


def _branched(bind: Op, peak: Op) -> bool:
    """Is the binding in an arm that the peak is outside of?"""
    depth = len(peak.branches)
    return len(bind.branches) > depth and bind.branches[:depth] == peak.branches


def _costs(flow: FunctionFlow, bind: Op, peak: Op) -> bool:
    """In a loop that trains, the step's own results are bound anew before its peak, the backward: only lists of
    results, and results that are held while another network's backward runs, add to it."""
    if not _trains_in(flow, peak.loops):
        return peak.name == "module"
    if peak.name == "backward":
        return liveness(flow).unpacked(bind) and all(peak not in op.freed for op in bind.inputs)
    return peak.name == "module" and _listed(flow, bind)


def _listed(flow: FunctionFlow, bind: Op) -> bool:
    """Is the value iterated over or indexed like a list?"""
    nodes = {id(node) for node in liveness(flow).readers(bind)}
    read = flow.named("iter", "item")
    return any(id(op.node) in nodes or id(getattr(op.node, "value", None)) in nodes for op in read)


def _near(bind: Op) -> bool:
    """Is the value a forward's own result, or one step from it?"""
    return any(op.name == "module" for maker in bind.inputs for op in (maker, *maker.inputs))


def _of_module(flow: FunctionFlow, bind: Op, held: Held) -> Span | None:
    peak = held.peak
    if bind.value.name in CHECKPOINTS or bind.value.kind is not Kind.MODULE or bind.value.trainable is Fact.NO:
        return None
    if held.carried or (peak.loops == bind.loops and bind.loops and peak.order < bind.order):
        replaced = peak in bind.inputs or any(peak in op.inputs for op in bind.inputs)
        return Span.REPLACED if replaced and peak.name in ("call", "construct") else None
    deeper = len(peak.loops) > len(bind.loops)
    ran = any(op.name == "module" and op.order < peak.order for maker in bind.inputs for op in maker.uses)
    return Span.TRAINING if deeper and ran and peak.name == "module" and _trains_in(flow, peak.loops) else None


def _of_copy(flow: FunctionFlow, bind: Op, held: Held) -> Span | None:
    """A copy of weights that is dead while a called function trains, or through a training loop."""
    if bind.value.name in CHECKPOINTS or bind.value.kind is not Kind.CONTAINER:
        return None
    peak = held.peak
    if peak.name == "backward":
        return Span.TRAINING if len(peak.loops) > len(bind.loops) else None
    inner = applied_flow(flow, peak) if peak.name == "call" else None
    return Span.TRAINING if inner is not None and inner.runs_backward else None


def _leaks(flow: FunctionFlow, bind: Op) -> bool:
    """Is the graph of the bound value freed by no backward, and not TML203's business?"""
    if not flow.runs_backward or any(op.freed for op in bind.inputs):
        return False
    if any(sinks(op) - {Sink.HOST} for op in bind.inputs) or any(_root_unseen(op) for op in flow.named("backward")):
        return False
    origins = [o for o in closure(bind.inputs, lambda o: o.inputs if o.passes else ()) if o.name == "module"]
    return bool(origins) and not any(o.freed for o in origins) and not any(dropped(flow, o) for o in origins)


def _root_unseen(backward: Op) -> bool:
    """Does a backward walk what an attribute holds, as a hook may have put it there? Its graph is not seen."""
    ops = list(closure(backward.receiver.defs if backward.receiver is not None else (), lambda o: o.inputs))
    return any(op.name == "load" and "." in (op.path or "") for op in ops) and not any(
        op.name in FORWARDS for op in ops
    )


def _trains_in(flow: FunctionFlow, loops: tuple[int, ...]) -> bool:
    return any(op.loops[: len(loops)] == loops for op in flow.named("backward"))


def _computes(flow: FunctionFlow, peak: Op) -> bool:
    return peak.name != "call" or callee_forwards(flow, peak) is not None


def _evaluates(flow: FunctionFlow, call: Op) -> bool:
    """Does the called function run a forward without grad?"""
    return callee_forwards(flow, call) is Mode.OFF


def applied_flow(flow: FunctionFlow, call: Op) -> FunctionFlow | None:
    """The interpretation of a called project function that the call's own summary was taken from."""
    program = flow.program
    info = program.called(call)
    if info is None:
        return None
    arguments = program.callers.bound(info, call)
    return program.flow(info, [replace(plain(a.value), const=None) if a is not None else None for a in arguments])


def callee_forwards(flow: FunctionFlow, call: Op, depth: int = 2) -> Mode | None:
    """The grad mode of the first forward in a called project function; None where it runs none."""
    inner = applied_flow(flow, call)
    if inner is None:
        return None
    for op in inner.named("module", "call"):
        if op.name == "module":
            return op.mode
        mode = callee_forwards(inner, op, depth - 1) if depth else None
        if mode is not None:
            return Mode.OFF if op.mode is Mode.OFF else mode
    return None
