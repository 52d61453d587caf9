"""Which memory things live in: the device that an argument names, and whether a module was moved to an accelerator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.flagged import tests_of
from torchmemlint.flow.graph import Argument, Op, closure
from torchmemlint.flow.values import Fact, Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.index.model import FunctionInfo

CPU, CUDA, CHOSEN = "cpu", "cuda", "chosen"  # CHOSEN: a variable says which; programs that ask mean an accelerator
MOVES = frozenset({"to", "cuda", "cpu", "torch.to", "torch.cuda", "torch.cpu"})
KEEPS = frozenset(
    "eval train requires_grad_ half float double bfloat16 share_memory type apply construct bind read".split()
)
CALLER_DEPTH = 3


def named(argument: Argument | None) -> str | None:
    """The device that an argument stands for; None where it is certainly no device (a dtype, a flag)."""
    if argument is None:
        return None
    value = argument.value
    if isinstance(value.const, str):
        return CPU if value.const.startswith("cpu") else "meta" if value.const == "meta" else CUDA
    if isinstance(value.const, (bool, float)):
        return None
    if value.kind is Kind.HOST and value.device is not None:
        return value.device
    if value.kind is Kind.FUNCTION:
        return _of_function(argument.node)
    if value.kind is Kind.CONTAINER:
        return _of_mapping(value)
    if value.kind is Kind.EXTERNAL:
        return CUDA if (value.name or "").endswith(".cuda") else None  # torch.float16
    return CHOSEN


def _of_function(node: cst.BaseExpression) -> str:
    """`lambda storage, location: storage` leaves the storage in host memory, where it is read to."""
    if not isinstance(node, cst.Lambda):
        return CHOSEN
    names = [p.name.value for p in node.params.params]
    body = node.body
    if isinstance(body, cst.Name):
        return CPU if names and body.value == names[0] else CHOSEN
    called = body.func if isinstance(body, cst.Call) else None
    if isinstance(called, cst.Attribute) and called.attr.value in (CPU, CUDA):
        return called.attr.value
    return CHOSEN


def _of_mapping(value: Value) -> str:
    """`{"cuda:0": "cpu"}`"""
    members = list(value.elements.values()) if isinstance(value.elements, dict) else []
    targets = {m.const.partition(":")[0] for m in members if isinstance(m.const, str)}
    return targets.pop() if len(targets) == 1 and len(members) else CHOSEN


def moved_to(op: Op) -> str | None:
    """The device that a `.to(…)`, `.cuda()` or `.cpu()` call moves to; None for anything else (a cast, another
    tensor)."""
    bare = op.name.removeprefix("torch.")
    if bare in (CPU, CUDA):
        return bare
    if bare != "to":
        return None
    given = op.argument(0, "device")
    if given is None or given.name not in (None, "device") or given.value.kind in (Kind.TENSOR, Kind.MODULE):
        return None
    return named(given)


def on_accelerator(
    flow: FunctionFlow, value: Value, path: str | None, before: int | None = None, depth: int = 0
) -> Fact:
    """Has the module been put on an accelerator by operation number `before` (by the function's end if None)?

    NO where it is moved to the CPU, MAYBE where no move is seen. A device held in a variable counts as an
    accelerator."""
    known = _moves(flow, value, path)
    moves = [op for op in known if before is None or op.order < before]
    if known and not moves:
        return Fact.NO  # it is moved later
    if moves:
        target = moved_to(max(moves, key=lambda op: op.order))
        return Fact.NO if target in (CPU, "meta") else Fact.YES
    if path is not None and any(_fed_from_device(op) for op in flow.named("module") if op.path == path):
        return Fact.YES
    if any(op.name == "construct" and _moves_itself(flow, op) for op in value.defs):
        return Fact.YES
    if depth >= CALLER_DEPTH or path is None:
        return Fact.MAYBE
    if "." in path:
        return _attribute(flow, path, depth)
    found = _parameter(flow, path, depth) or _global(flow, path, depth)
    return found if found is not None else Fact.MAYBE


def _moves(flow: FunctionFlow, value: Value, path: str | None) -> list[Op]:
    """The moves of the module, and of the modules made of it: `DataParallel(model).cuda()`."""
    behind = list(closure(value.defs, lambda o: o.inputs if o.name in KEEPS or o.name in MOVES else (), 200))
    around = [u for op in behind for u in op.uses if u.name == "construct" and u.value.kind is Kind.MODULE]
    behind += closure(around, lambda o: o.uses if o in around or o.name in MOVES | KEEPS else (), 200)
    found = [op for op in dict.fromkeys(behind) if op.name in MOVES]
    if path is not None:
        found += [op for op in flow.named("to", "cuda", "cpu") if op.path == path and not _of_another(op, behind)]
    return [op for op in found if moved_to(op) is not None]


def moved_in_another_arm(flow: FunctionFlow, value: Value, path: str | None, op: Op) -> bool:
    """Does each move of the module before `op` need a test to hold that `op` needs to fail, as in the two arms of
    `if torch.cuda.is_available()`?"""
    needed = set(_needs(flow, op))
    moves = [move for move in _moves(flow, value, path) if move.order < op.order]
    return bool(moves) and all(any((text, not held) in needed for text, held in _needs(flow, move)) for move in moves)


def _needs(flow: FunctionFlow, op: Op) -> Iterator[tuple[str, bool]]:
    """The tests that the operation stands under, as they are written without `not`, and how they come out."""
    return ((flow.unit.text(condition.test), condition.wanted) for condition in tests_of(flow, op))


def _moves_itself(flow: FunctionFlow, made: Op) -> bool:
    """Does a module of the project go to an accelerator in its own constructor?"""
    info = flow.program.method(made.value.name, "__init__") if made.value.kind is Kind.MODULE else None
    inner = flow.program.flow(info) if info is not None and info.parameters else None
    own = inner.named("to", "cuda", "cpu") if inner is not None and inner is not flow else []
    targets = [moved_to(op) for op in own if info is not None and op.path == info.parameters[0].name]
    return bool(targets) and targets[-1] in (CUDA, CHOSEN)


def _of_another(move: Op, behind: list[Op]) -> bool:
    """Was the local name bound to a module made elsewhere, in another branch or before, when that one was moved?"""
    given = move.receiver.defs if move.receiver is not None and "." not in (move.path or "") else ()
    return bool(given) and bool(behind) and set(given).isdisjoint(behind)


def _fed_from_device(op: Op) -> bool:
    """Is an argument of the call moved to an accelerator first?"""
    sources = closure(
        [d for a in op.arguments for d in a.value.defs], lambda o: o.inputs if o.name != "module" else (), 100
    )
    return any(moved_to(o) in (CUDA, CHOSEN) for o in sources if o.name in MOVES)


def _parameter(flow: FunctionFlow, path: str, depth: int) -> Fact | None:
    names = [p.name for p in flow.info.parameters]
    if path not in names:
        return None
    position, found = names.index(path), Fact.NO
    sites = flow.program.callers.sites(flow.info).calls
    for site in sites:
        bound = flow.program.callers.bound(flow.info, site.op)
        argument = bound[position] if position < len(bound) else None
        if argument is None:
            return Fact.MAYBE
        given = flow.program.path_of(argument)
        if given is None and argument.value is site.op.receiver:
            given = (site.op.path or "").rpartition(".")[0] or None
        below = on_accelerator(site.flow, argument.value, given, site.op.order, depth + 1)
        found = found.either(below)
    return found if sites else Fact.MAYBE


def _global(flow: FunctionFlow, path: str, depth: int) -> Fact | None:
    """A module-level name that the function only reads."""
    index = flow.unit.index
    body = flow.program.project.body(index)
    if not flow.info.name or path not in index.globals or body is None:
        return None
    if path not in flow.frame.shared and any(op.path == path for op in flow.named("bind")):
        return None  # a name of its own
    level = flow.program.flow(body)
    if level is None:
        return None
    value = level.frame.state.env.get(path)
    return on_accelerator(level, value, path, None, depth + 1) if value is not None else None


def _attribute(flow: FunctionFlow, path: str, depth: int) -> Fact:
    """`self.model`: by what the class's methods assign to it, and by where they move it."""
    owner = flow.program.project.owner(flow.info)
    head, _, attribute = path.rpartition(".")
    if owner is None or not flow.info.parameters or head != flow.info.parameters[0].name:
        return Fact.MAYBE
    found = Fact.MAYBE
    for method in flow.program.classes.assigners(owner, attribute):
        other = flow.program.flow(method)
        if other is None:
            continue
        found = _assigned(other, method, attribute, depth)
        if found is not Fact.MAYBE:
            return found
    whole = flow.program.is_module(flow.program.key(owner)) is Fact.YES  # moved with the module that it is a part of
    return (_parameter(flow, head, depth) or found) if whole else found


def _assigned(flow: FunctionFlow, method: FunctionInfo, attribute: str, depth: int) -> Fact:
    path = f"{method.parameters[0].name}.{attribute}" if method.parameters else attribute
    stores = [s for op in flow.named("load") if op.path == path for s in op.stores]
    for store in stores:
        name = (
            flow.program.path_of(Argument(None, store.value, store.value_node))
            if store.value_node is not None
            else None
        )
        known = on_accelerator(flow, store.value, path, None, CALLER_DEPTH)
        if known is Fact.MAYBE and name is not None and name != path:
            known = on_accelerator(flow, store.value, name, store.op.order, depth + 1)
        if known is not Fact.MAYBE:
            return known
    return Fact.MAYBE


def placed_on(op: Op) -> str | None:
    """The device on which an operation surely puts its result: a move, or a tensor made with `device=`."""
    if op.name in MOVES:
        return moved_to(op)
    if op.name.startswith("torch."):
        given = next((a for a in op.arguments if a.name == "device"), None)
        return named(given) if given is not None and given.value.kind is not Kind.CONTAINER else None
    return None
