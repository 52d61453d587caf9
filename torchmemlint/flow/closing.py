"""The events of a finished function: what each holder kept, where each forward ended, how each operator was used."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.events import Event, ForwardClosed, FunctionClosed, GradContextMisused, HolderClosed, OpClosed
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Mode, Op, Sink, closure, fact, sinks
from torchmemlint.flow.handed import runs_with_grad
from torchmemlint.flow.keeping import kept, may_keep
from torchmemlint.flow.lazy import read_with_grad
from torchmemlint.flow.lifetimes import applied_flow
from torchmemlint.flow.patterns import alone
from torchmemlint.flow.returning import borrowed
from torchmemlint.flow.threads import unguarded
from torchmemlint.flow.unrecorded import turned_into_numpy
from torchmemlint.flow.values import Fact, Kind, Value
from torchmemlint.registry import RUNS, role

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.index.model import FunctionInfo


ALL = frozenset({HolderClosed, ForwardClosed, GradContextMisused, FunctionClosed})


def events(
    flow: FunctionFlow, wanted: Collection[type[Event]] = ALL, operations: Collection[str] = ()
) -> Iterator[Event]:
    """The wanted events of a function, in the order of its operations; operations themselves where their names are
    wanted."""
    forwards: list[ForwardClosed] = []
    # inside a forward, whether a graph is wanted is its caller's affair
    runs = role(flow.info) in RUNS and (ForwardClosed in wanted or FunctionClosed in wanted)
    keeps = HolderClosed in wanted
    for op in flow.ops:
        if op.name in operations:
            yield OpClosed(flow, op)
        if keeps and may_keep(op):
            yield from kept(flow, op)
        if runs and op.name in ("module", "call"):
            forwards += _forward(flow, op)
    if GradContextMisused in wanted:
        yield from _contexts(flow)
    if forwards and _frozen(flow):
        forwards = []
    yield from forwards
    yield FunctionClosed(flow, forwards)


# -- forwards -------------------------------------------------------------------------------------------------------


def _forward(flow: FunctionFlow, op: Op) -> Iterator[ForwardClosed]:
    if fact(op.value) is Fact.NO or op.mode is Mode.OFF:
        return
    if op.name == "module":
        recorded = op.receiver is not None and op.receiver.trainable is not Fact.NO
        evaluation = _evaluates(flow, op, op.path)
    else:
        evaluation = _evaluated_by(flow, op)
        recorded = evaluation or not _frozen_at(flow, op) and borrowed(flow, op)
    if recorded and not turned_into_numpy(flow, op):
        yield ForwardClosed(flow, op, evaluation)


def _evaluated_by(flow: FunctionFlow, call: Op) -> bool:
    """Does a call of a project function run a module in eval mode with grad on?"""
    return (
        (id(call.node), "module") not in flow.frame.table
        and call.value.graph is Fact.YES
        and not _frozen_at(flow, call)
        and any(_evaluates(flow, call, path) for path in _modules_of(flow, call))
    )


def given_in_eval(flow: FunctionFlow) -> bool:
    """Do all known callers of the function put a module that they hand it into eval mode before?"""
    calls = flow.program.callers.sites(flow.info).calls
    return bool(calls) and all(
        any(_evaluates(site.flow, site.op, path) for path in _modules_of(site.flow, site.op))
        or any(made.name == "eval" for given in site.op.arguments for made in given.value.defs)
        for site in calls
    )


def _frozen(flow: FunctionFlow) -> bool:
    """Is it a method of a module whose known callers all have frozen that module before?"""
    owner = flow.program.project.owner(flow.info)
    if owner is None or flow.program.is_module(flow.program.key(owner)) is not Fact.YES:
        return False
    sites = flow.program.callers.sites(flow.info).calls
    return bool(sites) and all(_frozen_at(site.flow, site.op) for site in sites)


def _frozen_at(flow: FunctionFlow, call: Op) -> bool:
    given = call.receiver
    known = given is not None and given.trainable is Fact.NO and not _is_bare(flow, given)
    return known or call.receiver_node is not None and dotted(call.receiver_node) in flow.frame.frozen


def _is_bare(flow: FunctionFlow, module: Value) -> bool:
    """Has the module's class no parameters, as far as is seen, so that there is nothing to freeze?"""
    made = flow.program.class_(module.name)
    return made is not None and flow.program.classes.trainable(made) is Fact.NO


def _modules_of(flow: FunctionFlow, call: Op) -> list[str]:
    """The paths of the modules that a project function is called on or with: it may run their forward."""
    given = [a for a in call.arguments if a.value.kind is Kind.MODULE]
    paths = [flow.program.path_of(a) for a in given]
    if call.receiver is not None and call.receiver.kind is Kind.MODULE and call.path is not None:
        paths.append(call.path)
    if call.receiver is not None and call.receiver.kind is Kind.INSTANCE and call.path is not None:
        paths += _run_by_method(flow, call, call.path.rpartition(".")[0])
    return [path for path in paths if path is not None]


def _run_by_method(flow: FunctionFlow, call: Op, owner: str) -> list[str]:
    """The paths, as the caller writes them, of the object's own modules that a called method runs, where that method
    serves training as well: where it does not, it is looked at itself."""
    inner = applied_flow(flow, call) if flow.named("eval") else None
    if inner is None or not inner.info.parameters or Sink.BACKWARD not in flow.program.callers.returned(inner):
        return []
    own = inner.info.parameters[0].name + "."
    run = [op.path for op in inner.named("module") if op.path is not None and op.path.startswith(own)]
    return [f"{owner}.{path.removeprefix(own)}" for path in run]


def _evaluates(flow: FunctionFlow, op: Op, path: str | None) -> bool:
    """Was the module, or one it is part of, put into eval mode before, and not back into train mode?"""
    switched = False
    for other in flow.named("eval", "train"):
        if other.order > op.order or not other.path or path is None:
            continue
        if path != other.path and not path.startswith(other.path + "."):
            continue
        if other.name == "eval":
            switched = True
        else:
            flag = other.argument(0, "mode")
            switched = flag is not None and flag.value.const is False
    return switched or _made_in_eval(flow, path)


def _made_in_eval(flow: FunctionFlow, path: str | None) -> bool:
    """Does the method that makes the object's module put it into eval mode, and no method of the class train?"""
    project = flow.program.project
    owner = project.owner(flow.info) if path is not None and "." in path else None
    if owner is None or path is None:
        return False
    if any(not method.words.isdisjoint({"backward", "train"}) for method in project.methods(owner)):
        return False
    attribute = path.split(".")[1]
    makers = [project.method(owner, "__init__"), *flow.program.classes.assigners(owner, attribute)]
    return any(made is not None and "eval" in made.words and _puts_in_eval(flow, made, attribute) for made in makers)


def _puts_in_eval(flow: FunctionFlow, maker: FunctionInfo, attribute: str) -> bool:
    made = flow.program.flow(maker)
    if made is None or made.summary.exit_mode is Mode.OFF:
        return False  # it has switched grad off for good
    path = f"{maker.parameters[0].name}.{attribute}" if maker.parameters else attribute
    put = {maker for op in made.named("load") if op.path == path for s in op.stores for maker in s.value.defs}
    return any(
        path in (op.path, *(u.path for u in op.uses if u.name == "store"))
        or op.receiver is not None
        and not put.isdisjoint(op.receiver.defs)
        for op in made.named("eval")
    )


# -- grad-mode contexts -----------------------------------------------------------------------------------------------


def _contexts(flow: FunctionFlow) -> Iterator[GradContextMisused]:
    for op in flow.named("context"):
        if op.callee is not None and op.callee.endswith("set_grad_enabled"):
            yield from _leak(flow, op)
            continue
        if not op.uses and alone(op):
            yield GradContextMisused(flow, op, "bare statement")
        elif op.uses and all(user.name == "bind" for user in op.uses):
            yield GradContextMisused(flow, op, "never entered")
    yield from _on_coroutine(flow)
    yield from _volatile(flow)
    for op in unguarded(flow):
        yield GradContextMisused(flow, op, "other thread")
    for op in read_with_grad(flow):
        yield GradContextMisused(flow, op, "read later")
    for op in flow.named("enter"):
        value = op.receiver
        if (
            value is not None
            and value.kind is Kind.EXTERNAL
            and value.name != "context"
            and isinstance(op.node, (cst.Name, cst.Attribute))
        ):
            yield GradContextMisused(flow, op, "not called")


def _volatile(flow: FunctionFlow) -> Iterator[GradContextMisused]:
    """The first `volatile=True` of a function, from which a forward records a graph that no backward here walks."""
    for op in flow.named("volatile"):
        reached = set(closure(op.inputs, lambda o: o.uses))
        later = [o for o in flow.named("module", "call", "?call") if o.order > op.order and o.mode is not Mode.OFF]
        later = [o for o in later if o in reached or not reached]
        later = [o for o in later if fact(o.value) is Fact.YES or _is_forward(o)]
        if runs_with_grad(flow, op) and any(Sink.BACKWARD not in sinks(o) for o in later):
            yield GradContextMisused(flow, op, "volatile")
            return


def _is_forward(op: Op) -> bool:
    """Is it `model.forward(…)` of an object of which nothing is known?"""
    return op.name == "?call" and (op.callee or "").endswith(".forward")


def _leak(flow: FunctionFlow, op: Op) -> Iterator[GradContextMisused]:
    """Grad is switched off and on again by statements: a caller that had it off gets it back on."""
    states = [o.value.const for o in flow.named("context") if o.callee == op.callee and not o.uses]
    if op.value.const != "on" or states[-2:] != ["off", "on"] or flow.entry is not Mode.ENTERED:
        return
    if any(site.op.mode is Mode.OFF for site in flow.program.callers.sites(flow.info).calls):
        yield GradContextMisused(flow, op, "switched back on")


def _on_coroutine(flow: FunctionFlow) -> Iterator[GradContextMisused]:
    """A grad-mode decorator on an `async def` is left before the body runs."""
    if not flow.info.is_async or isinstance(flow.node, cst.Module):
        return
    for text, decorator in zip(flow.info.decorators, flow.node.decorators):
        if flow.program.effect(text) in ("off", "on"):
            yield GradContextMisused(flow, Op("decorator", decorator, flow.unit), "async function")


def dropped_context(flow: FunctionFlow) -> bool:
    """Is a no_grad made as a bare statement, so that all that follows was meant to run without grad? (TML202)"""
    return any(
        not op.uses and alone(op)
        for op in flow.named("context")
        if op.value.const == "off" and not (op.callee or "").endswith("set_grad_enabled")
    )
