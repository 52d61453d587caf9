"""Gradients in time: where they stay allocated though nothing reads them, and where a backward fills some for
nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Mode, Op, upstream
from torchmemlint.flow.optimizers import (
    FORWARDS,
    Owned,
    after,
    callee,
    clearing,
    evaluates,
    is_criterion,
    is_step,
    modules_of,
    optimizer_path,
    optimizers,
    pass_path,
    passes_of,
)
from torchmemlint.flow.values import Fact, Value

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow


@dataclass(frozen=True)
class Alive:
    """Gradients of an earlier step that stay allocated while `peak` runs; `op` is where they should be gone."""

    op: Op
    peak: Op
    how: str  # "cleared late" | "never cleared" | "evaluation"


def alive_in_forward(flow: FunctionFlow) -> Iterator[Alive]:
    """Clearing calls that stand between a forward and its backward, and loops that never clear."""
    clears = clearing(flow)
    for backward in flow.named("backward"):
        if backward.receiver is None or not (backward.loops or _called_in_loop(flow)):
            continue
        forwards = _forwards(backward)
        if not forwards:
            continue
        late = [c for c in clears if _between(c, forwards, backward)]
        if late:
            yield Alive(late[-1], forwards[0], "cleared late")
        elif not clears and _stepped_here(flow, backward):
            yield Alive(backward, forwards[0], "never cleared")


def _forwards(backward: Op) -> list[Op]:
    """The passes in the backward's own loop whose graph it walks, in order."""
    found = [
        op
        for maker in (backward.receiver.defs if backward.receiver else ())
        for op in upstream(maker)
        if op.name in FORWARDS and op.loops == backward.loops and op.value.graph is not Fact.NO and not is_criterion(op)
    ]
    return sorted(set(found), key=lambda op: op.order)


def _called_in_loop(flow: FunctionFlow) -> bool:
    """Is the function one step of a loop that its callers run?"""
    return bool(flow.info.name) and any(site.op.loops for site in flow.program.callers.sites(flow.info).calls)


def _between(clear: Op, forwards: list[Op], backward: Op) -> bool:
    """Does the clearing run each time before the backward, behind its first forward pass?"""
    return (
        clear.loops == backward.loops
        and backward.branches[: len(clear.branches)] == clear.branches
        and forwards[0].order < clear.order < backward.order
    )


def _stepped_here(flow: FunctionFlow, backward: Op) -> bool:
    """Is a known optimizer that this function makes stepped in the backward's loop, each time?"""
    made = {owned.op for owned in optimizers(flow)}
    return any(
        is_step(op)
        and op.loops == backward.loops
        and op.branches == backward.branches
        and op.order > backward.order
        and op.receiver is not None
        and not made.isdisjoint(op.receiver.defs)
        for op in flow.named("step")
    )


def alive_in_evaluation(flow: FunctionFlow) -> Iterator[Alive]:
    """Evaluations over many batches that start while the last step's gradients are still allocated."""
    state, filled = Fact.MAYBE, None
    for op in flow.ops:
        new = after(flow, op, state)
        if new is Fact.YES and (op.name in ("backward", "call")) and new is not state:
            filled = op
        state = new
        if state is Fact.YES and filled is not None and (evaluates(flow, op) or _passes(op, filled)):
            yield Alive(op, op, "evaluation")
            return


def _passes(op: Op, filled: Op) -> bool:
    """A forward pass with grad off in a loop of this function, and not a part of the step that filled the gradients."""
    return op.name == "module" and op.mode is Mode.OFF and bool(op.loops) and op.loops != filled.loops


# -- gradients that no step applies
# -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Discarded:
    """A backward that fills gradients of modules whose optimizer does not step before they are cleared."""

    backward: Op
    passes: dict[str, Op]  # the modules by path, each with its first pass that the backward walks


def discarded(flow: FunctionFlow) -> Iterator[Discarded]:
    """The backwards of alternating steps (a generator's through the discriminator) that fill the other's gradients."""
    steps = [
        (b, modules_of(b.receiver), _applied(flow, b))
        for b in flow.named("backward")
        if b.receiver is not None and b.loops
    ]
    owned = _ownership(flow)
    for backward, modules, applied in steps:
        if not applied or not modules:
            continue
        others = [m for b, m, a in steps if b is not backward and a and m and not a & applied]
        wasted = _unowned(modules, applied, owned) if owned else None
        if wasted is None:
            wasted = frozenset[str]().union(*(m for m in others if m < modules))
        if wasted and others and wasted != modules:
            yield Discarded(backward, _first_passes(backward, wasted))


def _first_passes(backward: Op, modules: frozenset[str]) -> dict[str, Op]:
    found: dict[str, Op] = {}
    for op in sorted(passes_of(backward.receiver or Value()), key=lambda op: op.order):
        if pass_path(op) in modules:
            found.setdefault(pass_path(op), op)
    return found


def _applied(flow: FunctionFlow, backward: Op) -> frozenset[str]:
    """The optimizers that step between a backward and the next one."""
    following = [b.order for b in flow.named("backward") if b.order > backward.order]
    end = min(following, default=1 << 60)
    found = [optimizer_path(flow, op) for op in flow.named("step") if is_step(op) and backward.order < op.order < end]
    return frozenset(path for path in found if path is not None)


def _ownership(flow: FunctionFlow) -> dict[str, Owned]:
    """Optimizers that the function makes and binds to a name, by that name."""
    return {use.path: owned for owned in optimizers(flow) for use in owned.op.uses if use.name == "bind" and use.path}


def _unowned(modules: frozenset[str], applied: frozenset[str], owned: dict[str, Owned]) -> frozenset[str] | None:
    """Modules that other optimizers own but none of the applied ones; None where an applied one is not known."""
    mine: set[str] = set()
    for path in applied:
        if path not in owned or not owned[path].known:
            return None
        mine |= owned[path].paths
    theirs = {p for name, o in owned.items() if name not in applied for p in o.paths}
    return frozenset(m for m in modules if m not in mine and m in theirs)


def optimizers_in_reach(flow: FunctionFlow) -> Iterator[Owned]:
    """The optimizers of the function, else of its class, of the functions that call it, or of the module level."""
    own = list(optimizers(flow))
    if own:
        yield from own
        return
    owner = flow.program.project.owner(flow.info)
    if owner is not None:
        for method in flow.program.project.methods(owner):
            inner = flow.program.flow(method)
            yield from optimizers(inner) if inner is not None else ()
        return
    for site in flow.program.callers.sites(flow.info).calls:
        for found in optimizers(site.flow):
            yield _renamed(flow, site.op, found)


def _renamed(flow: FunctionFlow, call: Op, found: Owned) -> Owned:
    """A caller's optimizer in the names that the function gives to its arguments."""
    bound = flow.program.callers.bound(flow.info, call)
    names = {}
    for parameter, argument in zip(flow.info.parameters, bound):
        path = dotted(argument.node) if argument is not None else None
        if path is not None:
            names[path] = parameter.name
    return Owned(found.op, frozenset(names.get(p, p) for p in found.paths), found.known)


__all__ = [
    "Alive",
    "Discarded",
    "alive_in_evaluation",
    "alive_in_forward",
    "callee",
    "discarded",
    "optimizers_in_reach",
]
