"""Checkpoints and copies of weights: where a loaded one goes, how long it lives, which operations copy a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torchmemlint.flow.classes import loads
from torchmemlint.flow.devices import named
from torchmemlint.flow.exceptions import works
from torchmemlint.flow.graph import Argument, Op, closure
from torchmemlint.flow.liveness import liveness
from torchmemlint.flow.values import Kind, Value

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


def loaded(op: Op) -> Loaded:
    """What becomes of a "torch.load" operation's result within its function."""
    carriers = frozenset(closure([op], lambda o: o.uses if o is op or carries(o) else (), 400))
    ends = sorted((o for o in carriers if o is not op and not carries(o)), key=lambda o: o.order)
    restores = tuple(o for o in ends if is_restore(o) and _first(o, carriers))
    others = tuple(o for o in ends if o not in restores and o.name != "del")
    return Loaded(op, destination(op), frozenset(o for o in carriers if carries(o) or o is op), restores, others)


def read_by_helper(flow: FunctionFlow, call: Op) -> Loaded | None:
    """The checkpoint that a call of the project's own reader gives: a function that only reads a file and returns what
    it holds."""
    info = flow.program.called(call)
    if info is None or info.words.isdisjoint(READERS):
        return None
    load = loaded(call)
    inner = flow.program.flow(info) if load.restores else None
    if inner is None or inner is flow:
        return None
    reads = [loaded(op) for op in inner.named("torch.load")]
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
        given = loaded(site.op)
        found = still_held(site.flow, replace(given, restores=(site.op, *given.restores)))
        if found is not None:
            yield site, *found


def kept_attribute(flow: FunctionFlow, load: Loaded) -> Op | None:
    """The store that puts the whole checkpoint on `self`, where no other function of the project names the attribute;
    None where there is none."""
    owner = flow.program.project.owner(flow.info)
    if owner is None:
        return None
    for store in (op for op in load.op.uses if op.name == "store" and (op.path or "").startswith("self.")):
        attribute = (store.path or "").removeprefix("self.")
        if "." not in attribute and flow.program.project.mentions(attribute, flow.info.path) == [flow.info]:
            return store
    return None


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


# -- copies of weights ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeightsCopy:
    """An operation that makes a second set of weights. `whole`: a module itself is copied, not its state dict."""

    op: Op
    module: Value  # the module whose weights they are; UNKNOWN where only its state dict is known
    path: str | None  # of the module
    whole: bool
    source: Value


def weights_copy(flow: FunctionFlow, op: Op) -> WeightsCopy | None:
    """The copy that a "copy" or "comprehension" operation makes of a module's weights, if it does."""
    if op.name == "copy" and (op.callee or "").endswith("deepcopy") and op.arguments:
        value = op.arguments[0].value
        if value.kind is Kind.MODULE and not value.weak:
            return WeightsCopy(op, value, flow.program.path_of(op.arguments[0]), True, value)
        state = _state_of(value)
        return _of_state(op, state, value) if state is not None else None
    if op.name == "comprehension":
        return _cloned(op)
    return None


def _cloned(op: Op) -> WeightsCopy | None:
    """`{k: v.clone() for k, v in model.state_dict().items()}`"""
    for store in op.stores:
        chain = list(closure(store.value.defs, lambda o: o.inputs if o.name in _COPY_CHAIN else (), 50))
        clones = [o for o in chain if o.name == "torch.clone"]
        if not clones or any(o.name in ("torch.cpu", "torch.to", "torch.numpy") for o in chain):
            continue
        for clone in clones:
            state = _state_of(clone.receiver, STATES | LISTINGS) if clone.receiver is not None else None
            if state is not None and (state.name in STATES or _put_back(op)):
                return _of_state(op, state, clone.receiver or op.value)
    return None


_COPY_CHAIN = frozenset({"torch.clone", "torch.detach", "torch.data", "bind", "literal.tuple"})


def _put_back(op: Op) -> bool:
    """Are the copies of a local list written back into parameters? Those that an object keeps are mostly averages."""
    if any(user.name == "store" for user in op.uses):
        return False
    reached = closure([op], lambda o: o.uses if o is op or carries(o) else (), 200)
    return any(o.name in ("torch.copy_", "load_state_dict") for o in reached)


def _state_of(value: Value, names: frozenset[str] = STATES) -> Op | None:
    """The `state_dict()` call that a value is the result or a member of."""
    behind = closure(value.defs, lambda o: o.inputs if o.name not in _SOURCES else (), 60)
    return next((o for o in behind if o.name in names), None)


_SOURCES = frozenset({"state_dict", "module", "call", "parameters"})


def _of_state(op: Op, state: Op, source: Value) -> WeightsCopy | None:
    if state.receiver is None or state.receiver.kind is not Kind.MODULE:
        return None
    return WeightsCopy(op, state.receiver, state.path, False, source)


TRAINED = frozenset({"module", "parameters", "step", "train", "zero_grad", "arith", "register_hook", "requires_grad_"})


COMPARED = frozenset({"torch.allclose", "torch.equal", "torch.isclose", "compare"})


def fate(op: Op) -> str:
    """What becomes of a copy of weights: "host" (it goes to the CPU), "used" (called, averaged, trained), "transient"
    (loaded or saved at once), "collected" (in a list or dict), "kept" (a name or attribute), "handed" (out of
    sight)."""
    if any(a.node is op.node for user in op.uses if user.name == "save" or is_restore(user) for a in user.arguments):
        return "transient"
    reached = set(
        closure([op], lambda o: o.uses if o is op or carries(o) or o.name in ("to", "eval", "cuda", "cpu") else (), 200)
    )
    if any(_to_cpu(o) for o in reached):
        return "host"
    others = reached - {op}
    if any(o.name in TRAINED and o.loops or o.name in COMPARED or _written(o, reached) for o in others):
        return "used"
    if any(o.name == "store" and o.path and o in user_stores(op) for o in reached):
        return "collected"
    if any(user.name in ("bind", "store") for o in (op, *_wrapped(op)) for user in o.uses):
        return "kept"
    return "handed"


CASTS = frozenset({"to", "half", "float", "bfloat16", "eval", "bind"})


def only_saved(op: Op) -> bool:
    """Is a copied module cast or switched, and its state then saved, on its device all the while?"""
    reached = list(closure([op], lambda o: [u for u in o.uses if u.name in CASTS]))
    if any(_to_cpu(o) for o in reached):
        return False
    states = [u for o in reached for u in o.uses if u.name == "state_dict"]
    others = [u for o in reached for u in o.uses if u not in states and u not in reached and u.name != "del"]
    ends = [u for state in states for u in state.uses if u.name not in ("bind", "del")]
    return bool(ends) and not others and all(u.name == "save" for u in ends)


def snapshot(flow: FunctionFlow, op: Op) -> bool:
    """Is a copied module taken in a loop and bound to a local name or collected, as the best or a past state? Or put
    on the object, for some rounds only, where nothing calls or trains it?"""
    if not op.loops:
        return False
    if any(u.name == "bind" or u in user_stores(op) for u in op.uses):
        return True
    paths = [u.path for u in op.uses if u.name == "store" and u.path]
    if not op.branches or not paths:
        return False
    read = any(u.name in READ_BACK for u in op.uses)
    return all(_only_read_back(flow, path.rpartition(".")[2], read) for path in paths)


READ_BACK = frozenset({"return", "state_dict", "save", "load_state_dict"})


def _only_read_back(flow: FunctionFlow, attribute: str, found: bool) -> bool:
    """Do all functions that name the attribute only return, save or load what it holds, and does one do so?"""
    for info in flow.program.project.mentions(attribute, flow.info.path):
        inner = flow.program.flow(info)
        for load in loads(inner, attribute) if inner is not None else ():
            readers = [u for u in load.uses if u.name not in ("store", "bind")]
            if any(u.name not in READ_BACK for u in readers):
                return False
            found = found or bool(readers)
    return found


def user_stores(op: Op) -> set[Op]:
    """The stores that put the value into a list or dict, directly or by a name."""
    direct = set(closure([op], lambda o: o.uses if o is op or o.name == "bind" else (), 30))
    return {
        o
        for o in direct
        if o.name == "store"
        and any(
            h.name.startswith("literal.")
            or h.name == "load"
            and any(s.op is o and s.how in ("append", "setitem", "extend", "insert") for s in h.stores)
            for h in o.uses
        )
    }


def _wrapped(op: Op) -> list[Op]:
    """The dicts and lists that are made of it at once: `OrderedDict(… for …)`."""
    return [user for user in op.uses if user.name.startswith("literal.")]


def _written(op: Op, copies: set[Op]) -> bool:
    """Is one of the copies changed by the operation, not only read?"""
    name = (op.callee or "") if op.name == "?call" else op.name
    if op.name not in ("write", "torch.setitem") and op.receiver is not None and copies.isdisjoint(op.receiver.defs):
        return False  # `p.copy_(kept)`
    return op.name in ("write", "torch.setitem") or name.endswith("_") and not name.endswith("requires_grad_")


def _to_cpu(op: Op) -> bool:
    if op.name in ("cpu", "torch.cpu", "torch.numpy"):
        return True
    return op.name in ("to", "torch.to") and any(named(a) == "cpu" for a in op.arguments)
