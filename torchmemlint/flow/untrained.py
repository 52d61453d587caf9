"""Networks that nobody trains, whose parameters get gradients all the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmemlint.flow.devices import KEEPS, MOVES
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.gradients import optimizers_in_reach
from torchmemlint.flow.graph import Mode, Op, Sink, closure, sinks
from torchmemlint.flow.lifetimes import applied_flow
from torchmemlint.flow.optimizers import Owned, is_criterion, optimizers, passes_of
from torchmemlint.flow.values import Fact, Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.index.model import FunctionInfo

CHANGES = (KEEPS | MOVES) - {"construct"}
LEAVES_ALONE = frozenset({"module", "load_state_dict", "state_dict", "del"})
SWITCHES = frozenset({"requires_grad", "requires_grad_", "eval"})
HANDS_ON = frozenset("iter item bind literal.list literal.tuple read torch.data torch.detach".split())
AVERAGES = frozenset({"write", *(f"torch.{name}_" for name in ("mul", "add", "sub", "copy", "lerp"))})
HANDED_DEPTH = 3  # calls that a network is followed through


@dataclass(frozen=True)
class Untrained:
    """A module whose parameters get gradients from `backward`, though no optimizer holds them: it is in eval mode, or
    made here and handed to nobody."""

    path: str
    evaluated: Op  # the `eval()` call; of a module that has none the call that made it
    forward: Op
    backward: Op


def untrained(flow: FunctionFlow) -> Iterator[Untrained]:
    """The teachers and feature extractors whose loss path a backward walks although they are not trained."""
    known: list[Owned] | None = None
    seen: set[str] = set()
    for backward in flow.named("backward"):
        for op in _trainable_passes(backward):
            for path, evaluated in _evaluated_in(flow, op):
                if path in seen:
                    continue
                seen.add(path)
                if known is None:
                    known = list(optimizers_in_reach(flow))
                if _nobodys(flow, known, path):
                    yield Untrained(path, evaluated, op, backward)


def handed_down(flow: FunctionFlow) -> Iterator[Untrained]:
    """The same where the network is put into eval mode here, or filled with another one's weights, beside the optimizer
    that does not hold it, and run in a function that it is handed to."""
    switches = [(op.path, op) for op in flow.named("eval") if op.path and _unfrozen(op)]
    switches += _filled_from_another(flow)
    known = list(optimizers(flow)) if switches else []
    trained = {op.path for op in flow.named("train")} | {op.path for op in flow.named("parameters")}
    for path, op in switches:
        if not known or path in trained or any(not o.known or _covers(o, path) for o in known):
            continue
        makers = {op} if op.name == "construct" else set(op.receiver.defs) if op.receiver is not None else set()
        for call in flow.named("call"):
            forward = _run_in(flow, call, makers, HANDED_DEPTH) if call.order > op.order else None
            if forward is not None:
                yield Untrained(path, op, forward, call)
                break


def walked_elsewhere(flow: FunctionFlow) -> Iterator[Untrained]:
    """The same where a method runs the network of its object, and another one the backward of what that gives."""
    passes = [op for op in flow.named("module") if "." in (op.path or "") and _attached(op)]
    known: list[Owned] | None = None
    for op in passes:
        evaluated = _evaluated(flow, op.receiver or Value(), op.path or "")
        if evaluated is None or Sink.BACKWARD in sinks(op) or Sink.BACKWARD not in flow.program.callers.sinks(flow, op):
            continue
        if known is None:
            known = list(optimizers_in_reach(flow))
        if _nobodys(flow, known, op.path or ""):
            yield Untrained(op.path or "", evaluated, op, op)


def _nobodys(flow: FunctionFlow, known: list[Owned], path: str) -> bool:
    """Is the module in none of the optimizers, all of which are known, and frozen nowhere else?"""
    return bool(known) and all(o.known and not _covers(o, path) for o in known) and not _frozen_elsewhere(flow, path)


def _frozen_elsewhere(flow: FunctionFlow, path: str) -> bool:
    """May who calls the function freeze a module that it is given, or a method of the class an attribute, or, where its
    constructor is given that, who makes the object?"""
    project, owner = flow.program.project, flow.program.project.owner(flow.info)
    head, *name = path.split(".")[:2]
    if owner is None or not name:
        given = head in {p.name for p in flow.info.parameters}
        return given and any(_may_freeze(flow, caller) for caller in project.callers(flow.info))
    methods = project.methods_naming(owner, name[0])
    if any(_may_freeze(flow, method) or project.names(method, "add_param_group") for method in methods):
        return True
    constructor = project.method(owner, "__init__")
    given = constructor is not None and _given(flow.program.flow(constructor), path)
    makers = project.callers(constructor) if given and constructor is not None else []
    return any(_may_freeze(flow, maker) for maker in makers)


def _may_freeze(flow: FunctionFlow, caller: FunctionInfo, depth: int = HANDED_DEPTH) -> bool:
    """May a function that hands the network over, or one that it calls, switch gradients off? Its words also say so
    where it or the function in question makes a leaf of its own require grad."""
    project = flow.program.project
    if not project.may_freeze(caller):
        return False
    inner = flow.program.flow(caller) if depth else None
    if inner is None or any(_switches_off(op) for op in inner.ops):
        return True
    for op in inner.ops:
        if op.name == "?call" and Sink.UNKNOWN_CALL in op.sunk and _gets_module(op):
            return True
        called = flow.program.called(op) if op.name in ("call", "construct") else None
        if called is not None and called is not caller and _may_freeze(flow, called, depth - 1):
            return True
    return False


def _switches_off(op: Op) -> bool:
    """Does it set what requires grad, of something that is no tensor of its function's own, to anything but true?"""
    if op.name == "store":
        return (op.path or "").endswith(".requires_grad") and Sink.ATTRIBUTE in op.sunk and op.value.const is not True
    given = op.argument(0, "requires_grad") if op.name in ("requires_grad_", "torch.requires_grad_") else None
    return given is not None and given.value.const is not True


def _gets_module(op: Op) -> bool:
    given = [op.receiver, *(a.value for a in op.arguments)]
    return any(value is not None and value.kind is Kind.MODULE for value in given)


def _given(constructor: FunctionFlow | None, path: str) -> bool:
    """Does the constructor put one of its own arguments there?"""
    stores = [op for op in constructor.named("store") if op.path == path] if constructor is not None else []
    behind = closure(stores, lambda o: o.inputs if o.name in CHANGES | SWITCHES | {"store"} else (), 60)
    return any(op.name == "param" for op in behind)


def _filled_from_another(flow: FunctionFlow) -> list[tuple[str, Op]]:
    """Networks made here whose weights are those of another network of the function, whose targets they give."""
    found = []
    for op in flow.named("load_state_dict"):
        made = op.receiver.defs if op.receiver is not None else ()
        source = op.arguments[0].value.defs if op.arguments else ()
        path = dotted(op.receiver_node) if op.receiver_node is not None else None
        others = [o for o in source if o.name == "state_dict" and o.receiver is not None]
        copied = any(set(made).isdisjoint(o.receiver.defs) for o in others if o.receiver is not None)
        alone = len(made) == 1 and made[0].name == "construct" and _unfrozen(op)
        if path is not None and copied and alone and not _asked_for_parameters(flow, {made[0]}, HANDED_DEPTH):
            found.append((path, made[0]))
    return found


def _asked_for_parameters(flow: FunctionFlow, makers: set[Op], depth: int) -> bool:
    """Does a called function ask the module for its parameters? It may train it, or read its gradients."""
    for call in flow.named("call"):
        inner, received = _handed(flow, call, makers) if depth else (None, set())
        if inner is None:
            continue
        asked = (op for op in inner.named("parameters") if op.receiver is not None)
        if any(not received.isdisjoint(op.receiver.defs) for op in asked if op.receiver is not None):
            return True
        if _asked_for_parameters(inner, received, depth - 1):
            return True
    return False


def _handed(flow: FunctionFlow, call: Op, makers: set[Op]) -> tuple[FunctionFlow | None, set[Op]]:
    """The function that a call hands the module to which `makers` made, and the parameters that it arrives under."""
    info = flow.program.called(call)
    bound = flow.program.callers.bound(info, call) if info is not None else []
    given = [n for n, a in enumerate(bound) if a is not None and not makers.isdisjoint(a.value.defs)]
    inner = applied_flow(flow, call) if given else None
    return inner, {inner.parameters[n] for n in given if n < len(inner.parameters)} if inner is not None else set()


def _unfrozen(op: Op) -> bool:
    return op.receiver is not None and op.receiver.trainable is not Fact.NO and op.value.trainable is not Fact.NO


def _run_in(flow: FunctionFlow, call: Op, makers: set[Op], depth: int) -> Op | None:
    """The pass of a called function, on a way to a backward, through the module that `makers` made."""
    inner, received = _handed(flow, call, makers) if depth else (None, set())
    if inner is None:
        return None
    if any(op.name == "param" and op.value.trainable is Fact.NO for op in received):
        return None
    for op in inner.named("module"):
        own = op.receiver is not None and not received.isdisjoint(op.receiver.defs)
        if own and op.value.graph is Fact.YES and op.mode is not Mode.OFF and _walked(inner, op):
            return op
    found = (_run_in(inner, op, received, depth - 1) for op in inner.named("call"))
    return next((op for op in found if op is not None), None)


def _walked(flow: FunctionFlow, forward: Op) -> bool:
    return Sink.BACKWARD in sinks(forward) | flow.program.callers.sinks(flow, forward)


def _evaluated_in(flow: FunctionFlow, forward: Op) -> Iterator[tuple[str, Op]]:
    """The module of a forward, where it is in eval mode or nobody else has it; else the parts in eval mode that its own
    forward runs through: the network inside a perceptual loss."""
    module, path = _walked_module(forward)
    whole = _evaluated(flow, module, path) or _private(flow, forward)
    if whole is not None:
        yield path, whole
        return
    info = flow.program.method(forward.receiver.name, "forward") if forward.receiver is not None else None
    inner = flow.program.flow(info) if info is not None else None
    if inner is None:
        return
    for op in inner.named("module"):
        if op.path is None or not _attached(op) or Sink.RETURNED not in sinks(op):
            continue
        switches = _in_class(inner, op.path)
        evaluated = next((o for o in switches if o.name == "eval"), None)
        if evaluated is not None and not any(o.name == "train" for o in switches):
            yield f"{path}.{op.path.partition('.')[2]}", evaluated


def _attached(op: Op) -> bool:
    """Does the pass record a graph through parameters that require grad?"""
    trains = op.receiver is not None and op.receiver.trainable is Fact.YES and not is_criterion(op)
    return trains and op.value.graph is Fact.YES and op.mode is not Mode.OFF


def _trainable_passes(backward: Op) -> list[Op]:
    root = backward.receiver or Value()
    ops = {
        op
        for op in passes_of(root)
        if op.name == "module"
        and op.receiver is not None
        and op.receiver.trainable is Fact.YES
        and op.value.graph is Fact.YES
    }
    return sorted(ops, key=lambda op: op.order)


def _covers(owned: Owned, path: str) -> bool:
    """Do the optimizer's parameters include the module's: its own, or those of one it is part of?"""
    return any(path == p or path.startswith(p + ".") for p in owned.paths)


def _walked_module(forward: Op) -> tuple[Value, str]:
    """The module that is run, or the one whose layers a loop runs one after another, and its name."""
    layer = forward.receiver or Value()
    members = [maker for maker in layer.defs if maker.name == "iter"]
    walked = [o for maker in members for o in maker.inputs if o.value.kind is Kind.MODULE and o.path]
    one = len(layer.defs) == len(members) == len(walked) == 1
    return (walked[0].value, walked[0].path or "") if one else (layer, forward.path or "")


def _evaluated(flow: FunctionFlow, module: Value, path: str) -> Op | None:
    """The `eval()` call that the module of a forward is under; None where it may be in train mode."""
    behind = list(
        closure(module.defs, lambda o: o.inputs if o.name in KEEPS | MOVES and o.name != "construct" else (), 60)
    )
    switches = [o for o in behind if o.name in ("eval", "train")]
    switches += [o for o in flow.named("eval", "train") if o.path == path or o.path and path.startswith(o.path + ".")]
    if not switches and "." in path:
        switches = _in_class(flow, path)
    if any(o.name == "train" and (o.argument(0, "mode") is None or not _off(o)) for o in switches):
        return None
    return next((o for o in switches if o.name == "eval"), None)


def _private(flow: FunctionFlow, forward: Op) -> Op | None:
    """What makes the module, if the function does and then only loads its weights, moves it and runs it: its parameters
    are asked for by nobody, so nobody trains or freezes them."""
    receiver, path = forward.receiver or Value(), forward.path or ""
    behind = closure(receiver.defs, lambda o: o.inputs if o.name in CHANGES else (), 60)
    makers = [o for o in behind if o.name not in CHANGES and o.value.kind is Kind.MODULE]
    if len(makers) != 1 or makers[0].name not in ("construct", "copy") or makers[0].loops or "." in path:
        return None
    if makers[0].name == "construct" and any(a.value.kind is Kind.MODULE for a in makers[0].arguments):
        return None  # it wraps what others have and may train
    maker, own = makers[0], flow.program.method(receiver.name, "forward")
    held = set(closure(makers, lambda o: o.uses if o is maker or o.name in CHANGES else (), 200))
    others = [o for o in held - {maker} if o.name not in CHANGES | LEAVES_ALONE and not (own and o.callee == own.id)]
    if not all(_averaged(o) or o.name == "argument" for o in others):
        return None
    if any(o.name == "argument" for o in others) and not _averaged_where_handed(flow, maker):
        return None
    if _switches_itself(flow, receiver.name):
        return None
    return maker if flow.info.name or not _elsewhere(flow, path) else None


def _averaged(op: Op) -> bool:
    """Are the parameters only written in place, as a moving average of another network's, and no gradient read?"""
    if op.name != "parameters":
        return False
    found = [o for o in closure(op.uses, lambda o: o.uses if o.name in HANDS_ON else ()) if o.name not in HANDS_ON]
    if any(o.name in ("torch.grad", "construct") or (o.path or "").endswith(".grad") for o in found):
        return False
    return bool(found) and all(o.name in AVERAGES or o.mode is Mode.OFF for o in found)


def _averaged_where_handed(flow: FunctionFlow, maker: Op) -> bool:
    """Do the functions that the network is handed to no more with it than that?"""
    given = [_handed(flow, call, {maker})[1] for call in flow.named("call")]
    return any(given) and all(_averaged(use) for received in given for op in received for use in op.uses)


def _switches_itself(flow: FunctionFlow, key: str | None) -> bool:
    """Does a method of the class, or of one that it inherits from, freeze parameters or switch to eval mode?"""
    made, project = flow.program.class_(key), flow.program.project
    owners = project.mro(made) if made is not None else []
    return any(method.words & SWITCHES for owner in owners for method in project.methods(owner))


def _elsewhere(flow: FunctionFlow, name: str) -> bool:
    """Does a function of the file read the module level's name?"""
    return any(other is not flow.info for other in flow.program.project.naming(flow.info.path, name))


def _off(op: Op) -> bool:
    mode = op.argument(0, "mode")
    return mode is not None and mode.value.const is False


def _in_class(flow: FunctionFlow, path: str) -> list[Op]:
    """The switches of an attribute in the other methods of the class."""
    owner = flow.program.project.owner(flow.info)
    if owner is None:
        return []
    found = []
    for method in flow.program.classes.assigners(owner, path.partition(".")[2].partition(".")[0]):
        inner = flow.program.flow(method)
        if inner is not None:
            switches = inner.named("eval", "train")
            found += [o for o in switches if f"{path}.".startswith(f"{o.path}.") or path in _stored_as(o)]
    return found


def _stored_as(op: Op) -> set[str]:
    return {
        u.path
        for u in closure([op], lambda o: o.uses if o.value.kind is Kind.MODULE else (), 20)
        if u.path and u.name == "store"
    }
