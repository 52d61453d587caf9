"""Copies of a model's weights: which operations make one, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torchmemlint.flow.checkpoints import LISTINGS, STATES, carries, is_restore
from torchmemlint.flow.classes import loads
from torchmemlint.flow.devices import named
from torchmemlint.flow.graph import Op, closure
from torchmemlint.flow.values import Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.callers import CallSite
    from torchmemlint.flow.function import FunctionFlow


@dataclass(frozen=True)
class WeightsCopy:
    """An operation that makes a second set of weights. `whole`: a module itself is copied, not its state dict."""

    op: Op
    module: Value  # the module whose weights they are; UNKNOWN where only its state dict is known
    path: str | None  # of the module
    whole: bool
    source: Value
    site: CallSite | None = None  # where the state dict is handed in


def weights_copy(flow: FunctionFlow, op: Op) -> WeightsCopy | None:
    """The copy that a "copy" or "comprehension" operation makes of a module's weights, if it does."""
    if op.name == "copy" and (op.callee or "").endswith("deepcopy") and op.arguments:
        value = op.arguments[0].value
        if value.kind is Kind.MODULE and not value.weak:
            return WeightsCopy(op, value, flow.program.path_of(op.arguments[0]), True, value)
        state = _state_of(value)
        return _of_state(op, state, value) if state is not None else _handed_in(flow, op, value)
    if op.name == "comprehension":
        return _cloned(op)
    return None


def _handed_in(flow: FunctionFlow, op: Op, value: Value) -> WeightsCopy | None:
    """`copy.deepcopy(state)` of a parameter for which a known call passes the state dict of a module."""
    if len(value.params) != 1 or any(maker.name != "param" for maker in value.defs):
        return None
    (position,) = value.params
    for site in flow.program.callers.sites(flow.info).calls:
        bound = flow.program.callers.bound(flow.info, site.op)
        given = bound[position] if position < len(bound) else None
        state = _state_of(given.value) if given is not None else None
        made = _of_state(op, state, value) if state is not None else None
        made = made or (_proven(site, op, given.value) if given is not None else None)
        if made is not None:
            return replace(made, site=site)
    return None


def _proven(site: CallSite, op: Op, given: Value) -> WeightsCopy | None:
    """The same where only other uses of the object show that it is a module."""
    for maker in given.defs:
        if maker.name == "?call" and (maker.callee or "").endswith(".state_dict") and maker.receiver is not None:
            names = [maker.path or "", *(d.path or "" for d in maker.receiver.defs if d.name == "param")]
            if any(site.flow.frame.evidence.get(name) is Kind.MODULE for name in names):
                return WeightsCopy(op, maker.receiver, maker.path, False, given)
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
    if op.loops and any(_run_at_once(op, o, reached) for o in others):
        return "used"
    if any(o.name == "store" and o.path and o in user_stores(op) for o in reached):
        return "collected"
    if any(user.name in ("bind", "store") for o in (op, *_wrapped(op)) for user in o.uses):
        return "kept"
    return "handed"


def _run_at_once(copied: Op, op: Op, reached: set[Op]) -> bool:
    """Is a copied module handed to other code in the very iteration that copies it? That code runs or adapts it."""
    given = op.name in ("?call", "call", "argument", "construct") and copied.arguments
    if not given or copied.arguments[0].value.kind is not Kind.MODULE:
        return False
    return op.loops[: len(copied.loops)] == copied.loops and any(reached & {*a.value.defs} for a in op.arguments)


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
