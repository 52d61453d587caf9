"""Checkpoints: where a loaded one goes, how long it lives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torchmemlint.flow.classes import loads
from torchmemlint.flow.devices import named
from torchmemlint.flow.graph import Argument, Op, closure
from torchmemlint.flow.liveness import liveness
from torchmemlint.flow.values import Kind
from torchmemlint.flow.work import works

if TYPE_CHECKING:
    from torchmemlint.flow.callers import CallSite
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.index.model import FunctionInfo

SAVED = "saved"  # no map_location: each storage comes back where it was saved from
CARRIERS = frozenset("""bind item iter load read store comprehension copy argument torch.getitem state_dict""".split())
"""A module's `state_dict()` is reached by what is put into it: `own.update(loaded)`."""
HANDING = frozenset({"items", "values", "get", "pop", "copy"})  # methods of a loaded dict
TO_HOST = frozenset(
    {"safetensors.torch.load_file", "safetensors.torch.load", "transformers.modeling_utils.load_state_dict"}
)
MAPPED = frozenset({"torch.load", "torch.serialization.load", "torch.jit.load"})
DOWNLOADED = frozenset({"torch.hub.load_state_dict_from_url", "torch.utils.model_zoo.load_url"})
READERS = frozenset({"load", "load_file", "load_url", "load_state_dict_from_url"})
STATES = frozenset({"state_dict"})
TRAINERS = frozenset({"fit", "train", "test", "validate", "evaluate", "predict"})
LISTINGS = frozenset({"parameters"})
WEIGHTS = LISTINGS | STATES | {"torch.data"}


@dataclass(frozen=True)
class Loaded:
    """One read of a checkpoint. `destination`: "saved", "cpu", "cuda", "chosen", "meta", or None where it is not
    known."""

    op: Op
    destination: str | None
    carriers: frozenset[Op]  # the read itself and all that hands its contents on
    restores: tuple[Op, ...]  # load_state_dict calls that it feeds
    others: tuple[Op, ...]  # all other operations that use it

    @property
    def on_device(self) -> bool:
        """May its tensors lie in device memory?"""
        return self.destination in (SAVED, "cuda", "chosen")

    @property
    def copied(self) -> tuple[Op, ...]:
        """The restores that copy values; with `assign=True` the loaded tensors themselves become the parameters."""
        return tuple(op for op in self.restores if not assigns(op))


def loaded(flow: FunctionFlow, op: Op) -> Loaded:
    """What becomes of a "torch.load" operation's result within its function."""

    def on(o: Op) -> bool:
        return o is op or carries(o) or _given_back(flow, o, op)

    reached = frozenset(closure([op], lambda o: o.uses if on(o) else (), 400))
    carriers = frozenset(o for o in reached if on(o))
    ends = sorted(reached - carriers, key=lambda o: o.order)
    restores = tuple(o for o in ends if is_restore(o) and _first(o, reached))
    others = tuple(o for o in ends if o not in restores and o.name != "del")
    return Loaded(op, destination(op), carriers, restores, others)


def _given_back(flow: FunctionFlow, call: Op, load: Op) -> bool:
    """Is it a function of the project that is given what was loaded and returns it, under other keys perhaps?"""
    info = flow.program.called(call) if call.name == "call" else None
    inner = flow.program.flow(info) if info is not None and not info.is_generator else None
    if info is None or inner is None or inner is flow:
        return False
    for parameter, given in zip(inner.parameters, flow.program.callers.bound(info, call)):
        made = closure(given.value.defs if given is not None else (), lambda o: o.inputs if carries(o) else (), 60)
        if _returned(parameter) and any(o is load or o is not call and _given_back(flow, o, load) for o in made):
            return True
    return False


def _returned(parameter: Op) -> bool:
    reached = closure([parameter], lambda o: o.uses if o is parameter or carries(o) else (), 60)
    return any(o.name == "return" for o in reached)


def read_by_helper(flow: FunctionFlow, call: Op) -> Loaded | None:
    """The checkpoint that a call of the project's own reader gives: a function that only reads a file and returns what
    it holds."""
    info = flow.program.called(call)
    if info is None or info.words.isdisjoint(READERS):
        return None
    load = loaded(flow, call)
    inner = flow.program.flow(info) if load.restores else None
    if inner is None or inner is flow:
        return None
    reads = [loaded(inner, op) for op in inner.named("torch.load")]
    returned = [read for read in reads if any(o.name == "return" for o in read.others)]
    if len(returned) != 1 or len(reads) != 1 or returned[0].restores:
        return None
    return replace(load, destination=_as_called(flow, info, call, returned[0]))


def _as_called(flow: FunctionFlow, info: FunctionInfo, call: Op, read: Loaded) -> str | None:
    """The destination of a read in a helper, with what this call passes for the device."""
    given = read.op.argument(1, "map_location")
    if given is None or [op.name for op in given.value.defs] != ["param"] or len(given.value.params) != 1:
        return read.destination
    bound, (position,) = flow.program.callers.bound(info, call), given.value.params
    passed = bound[position] if position < len(bound) else None
    if passed is None:
        return read.destination
    return _mapped(passed)


def carries(op: Op) -> bool:
    """Does the operation hand on what it is given: a name, a subscript, a container?"""
    if op.name == "?call":
        return (op.callee or "").rpartition(".")[2] in HANDING and op.receiver is not None and bool(op.receiver.defs)
    return op.name in CARRIERS or op.name.startswith("literal.")


def is_restore(op: Op) -> bool:
    """Is it a `load_state_dict` call, on a known or unknown object, or a copy into one parameter?"""
    if op.name == "torch.copy_":
        return _into_weights(op)
    return op.name == "load_state_dict" or op.name == "?call" and (op.callee or "").endswith(".load_state_dict")


def _into_weights(op: Op) -> bool:
    """Is what a `copy_` writes a parameter: read from a module, its state or its parameters, or written by `.data`?"""
    written = op.receiver.defs if op.receiver is not None else ()
    behind = list(closure(written, lambda o: o.inputs if carries(o) or o.name == "torch.detach" else (), 60))
    if any(o.name in WEIGHTS for o in behind):
        return True
    return any(o.name == "load" and any(i.value.kind is Kind.MODULE for i in o.inputs) for o in behind)


def assigns(op: Op) -> bool:
    """Does `load_state_dict` put the loaded tensors themselves into the module?"""
    return any(a.name == "assign" and a.value.const is not False for a in op.arguments)


def _first(op: Op, carriers: frozenset[Op]) -> bool:
    return bool(op.arguments) and any(maker in carriers for maker in op.arguments[0].value.defs)


def destination(op: Op) -> str | None:
    """Where the tensors of a "torch.load" operation end up."""
    name = op.callee or ""
    if name in TO_HOST:
        given = op.argument(1, "device")
        return named(given) if given is not None else "cpu"
    if name not in MAPPED | DOWNLOADED:
        return None
    given = op.argument(1 if name in MAPPED else None, "map_location")
    if given is None and any(a.name in ("*", "**") for a in op.arguments):
        return None
    if given is None:
        return SAVED
    return _mapped(given)


def _mapped(location: Argument) -> str | None:
    """Where a `map_location` puts the tensors; None says that they come back where they were saved from."""
    none = location.value.kind is Kind.HOST and getattr(location.node, "value", None) == "None"
    return SAVED if none else named(location)


def work_after(flow: FunctionFlow, load: Loaded) -> Iterator[Op]:
    """Forward, backward and step operations, and calls that run them, behind the last restore of the checkpoint."""
    last = max((op.order for op in load.restores), default=load.op.order)
    for op in flow.ops:
        if op.order <= last or op in load.restores:
            continue
        if op.name in ("step", "backward") or works(flow, op) or _trains_out_of_sight(op):
            yield op


def _trains_out_of_sight(op: Op) -> bool:
    """A library's trainer gets to work on a model, a loader or a step that it was given: `trainer.fit(model)`."""
    name = (op.callee or "").rpartition(".")[2] if op.name == "?call" else op.name
    if name not in TRAINERS:
        return False
    makers = op.receiver.defs if op.receiver is not None else ()
    if name == "train":  # a module's switch of that name: only an object that no module is has the other
        makers = tuple(maker for maker in makers if maker.name == "?call")
    given = [*op.arguments, *(a for maker in makers for a in maker.arguments)]
    return any(a.value.kind in (Kind.MODULE, Kind.LOADER, Kind.FUNCTION) for a in given)


def still_held(flow: FunctionFlow, load: Loaded) -> tuple[Op, list[Op]] | None:
    """The first work that runs while only dead names keep the checkpoint, with their bindings; None where none do."""
    known = liveness(flow)
    heavy = {op for op in load.carriers if op.name == "bind" and _heavy(load, op)}
    for op in work_after(flow, load):
        dead = [bind for bind in known.dead(op) if bind in heavy]
        live = [bind for bind in known.in_force(op) if bind in heavy and bind not in dead]
        if dead and not live:
            return op, dead
    return None


def held_by_callers(flow: FunctionFlow, load: Loaded) -> Iterator[tuple[CallSite, Op, list[Op]]]:
    """The calls of a function that restores a checkpoint and returns it whole, where only dead names of the caller keep
    it while work runs: with that work and their bindings."""
    if not any(op.name == "return" and load.op in op.inputs for op in load.others):
        return
    for site in flow.program.callers.sites(flow.info).calls:
        if site.flow is flow:
            continue
        given = loaded(site.flow, site.op)
        found = still_held(site.flow, replace(given, restores=(site.op, *given.restores)))
        if found is not None:
            yield site, *found


def kept_attribute(flow: FunctionFlow, load: Loaded) -> Op | None:
    """The store that puts the whole checkpoint on `self`, where no other function of the project reads the attribute;
    None where there is none."""
    owner = flow.program.project.owner(flow.info)
    if owner is None:
        return None
    for store in (op for op in load.op.uses if op.name == "store" and (op.path or "").startswith("self.")):
        attribute = (store.path or "").removeprefix("self.")
        others = [m for m in flow.program.project.mentions(attribute, flow.info.path) if m is not flow.info]
        later = (op for op in flow.named("store", "del") if op.path == store.path and op.order > store.order)
        if "." in attribute or any(later):
            continue
        if all(other.name == "__init__" and _only_sets(flow.program.flow(other), attribute) for other in others):
            return store
    return None


def _only_sets(flow: FunctionFlow | None, attribute: str) -> bool:
    """Does a constructor do nothing with the attribute but make room for it?"""
    if flow is None or any(set(op.uses) - {s.op for s in op.stores} for op in loads(flow, attribute)):
        return False
    return any(op.path == f"self.{attribute}" for op in flow.named("store"))


def _heavy(load: Loaded, bind: Op) -> bool:
    """Does the name hold the whole checkpoint, or the part of it that restores a module?"""
    if load.op in bind.inputs:
        return True
    state = {maker for restore in load.restores for a in restore.arguments[:1] for maker in a.value.defs}
    return not state.isdisjoint(bind.inputs)


def restores_module(load: Loaded) -> Iterator[Op]:
    """The restores that copy the checkpoint's weights into a module (or an object that may be one)."""
    return (op for op in load.copied if op.receiver is None or op.receiver.kind not in (Kind.OPTIMIZER, Kind.SCALER))


def names_of(load: Loaded) -> list[Op]:
    """The bindings of the loaded object itself, unpacked or not."""
    return [op for op in load.op.uses if op.name in ("bind", "store") and op.path is not None]
