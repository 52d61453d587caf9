"""Hooks on modules and tensors: where they are registered, what becomes of the handle, which function they call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.graph import Argument, Op, Sink, closure
from torchmemlint.flow.lean import walk
from torchmemlint.flow.values import Fact, Kind, Value
from torchmemlint.flow.work import works

if TYPE_CHECKING:
    from torchmemlint.flow.frame import Closure
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.flow.program import Program
    from torchmemlint.index.model import FunctionInfo

REGISTERS = {
    "register_forward_hook": ("module", "inputs", "output"),
    "register_forward_pre_hook": ("module", "inputs"),
    "register_full_backward_hook": ("module", "gradients", "gradients"),
    "register_full_backward_pre_hook": ("module", "gradients"),
    "register_backward_hook": ("module", "gradients", "gradients"),
    "register_hook": ("gradient",),
    "register_post_accumulate_grad_hook": ("weight",),
    "register_module_forward_hook": ("module", "inputs", "output"),
}
"""The methods that register a hook, and what they hand to it in order."""

OPERATIONS = ("register_hook", "torch.register_hook", "torch.register_post_accumulate_grad_hook")
HANDLING = frozenset({"bind", "store", "literal.list", "literal.tuple", "literal.dict", "comprehension", "del"})
STEPS = frozenset("forward __call__ training_step validation_step test_step predict_step train_step".split())
READING = frozenset({"bind", "call", "module", "load", "argument"})
SELECTING = frozenset("iter item read load parameters literal.list literal.tuple literal.dict torch.getitem".split())


@dataclass(frozen=True)
class Callback:
    """What a registration calls: a nested function of the registering one, or a function of the project."""

    nested: Closure | None = None
    function: FunctionInfo | None = None
    factory: FunctionInfo | None = None  # the project function whose result, a nested function of it, is called
    bound: int = 0  # arguments given beforehand (`self`, functools.partial)


@dataclass(frozen=True)
class Registration:
    """One call of `register_…_hook`."""

    flow: FunctionFlow
    op: Op
    parameters: tuple[str, ...]  # roles of what the hook is called with
    callback: Callback


def registrations(flow: FunctionFlow) -> Iterator[Registration]:
    """The registrations in a function whose callback is known."""
    for op in flow.named(*OPERATIONS):
        callback = _callback(flow, op)
        if callback is not None:
            yield Registration(flow, op, _parameters(op), callback)


def _parameters(op: Op) -> tuple[str, ...]:
    roles = REGISTERS.get(op.callee or op.name.removeprefix("torch."), ())
    with_kwargs = any(a.name == "with_kwargs" and a.value.const is True for a in op.arguments)
    return (*roles[:2], "keywords", *roles[2:]) if with_kwargs and len(roles) > 1 else roles


def _callback(flow: FunctionFlow, op: Op) -> Callback | None:
    argument = op.argument(0, "hook")
    if argument is None:
        return None
    value = argument.value
    if value.kind is Kind.FUNCTION and value.const in flow.frame.closures:
        return Callback(nested=flow.frame.closures[value.const], bound=_given(argument))
    function = flow.program.function(value.name) if value.kind is Kind.FUNCTION else None
    if function is not None:
        with_object = value.elements is not None and "staticmethod" not in function.decorators
        return Callback(function=function, bound=_given(argument) + with_object)
    for maker in value.defs:
        found = _factory(flow.program, maker) if maker.name == "call" else _method(flow.program, maker)
        if found is not None:
            return found
    return None


def _given(argument: Argument) -> int:
    """How many arguments `functools.partial(fn, …)` binds."""
    node = argument.node
    return sum(a.keyword is None for a in node.args) - 1 if isinstance(node, cst.Call) else 0


def _factory(program: Program, op: Op) -> Callback | None:
    info = program.project.at(op.target, op.callee)
    return Callback(factory=info) if info is not None else None


def _method(program: Program, op: Op) -> Callback | None:
    if op.name != "load" or op.path is None or op.receiver is None:
        return None
    info = program.method(op.receiver.name, op.path.rpartition(".")[2])
    if info is None:
        return None
    return Callback(function=info, bound=0 if "staticmethod" in info.decorators else 1)


def registering(program: Program, path: str) -> list[FunctionInfo]:
    """The functions that may register hooks, in files linked with this one."""
    found = {(info.path, info.id): info for word in REGISTERS for info in program.project.mentions(word, path)}
    return list(found.values())


# -- the handle -------------------------------------------------------------------------------------------------------


def dropped(op: Op) -> bool:
    """Is the handle that a registration returns never used to remove the hook, nor kept for that anywhere?"""
    users = closure(op.uses, lambda o: o.uses if o.name in HANDLING else ())
    return all(u.name in ("bind", "store", "literal.list") and not u.sunk and not _held(u) for u in users)


def _held(user: Op) -> bool:
    """Does the handle go into an object that outlives the call?"""
    outer = any(o.name in ("load", "param", "?call", "return") for o in user.uses)
    return outer or bool(user.sunk & {Sink.ATTRIBUTE, Sink.GLOBAL})


def left_behind(flow: FunctionFlow, op: Op) -> bool:
    """Is the handle kept only on an object of which a loop makes one after the other, and which nothing tells to remove
    it?"""
    owner = flow.program.project.owner(flow.info) if flow.info.name == "__init__" else None
    if owner is None or not flow.info.parameters:
        return False
    kept = {u.path or "" for u in closure(op.uses, lambda o: o.uses if o.name in HANDLING else ()) if u.path}
    own = {path.partition(".")[2] for path in kept if path.startswith(f"{flow.info.parameters[0].name}.")}
    methods = flow.program.project.methods(owner)
    removers = {m.name for m in methods if "remove" in m.words}
    others = [m for m in methods if m.name not in removers]
    if not own or any(name.startswith("__") for name in removers) or any(m.words & removers for m in others):
        return False
    made = list(_made(flow, 3))
    return bool(made) and all(op.loops and _forgotten(op, removers | own) for op in made)


def _made(flow: FunctionFlow, depth: int) -> Iterator[Op]:
    """Where objects are made with this constructor: its own class's, and those that call it for their base."""
    for site in flow.program.callers.sites(flow.info).calls:
        if site.op.name == "construct":
            yield site.op
        elif depth and site.flow.info.name == "__init__":
            yield from _made(site.flow, depth - 1)


def _forgotten(made: Op, ends: set[str]) -> bool:
    """Is the object neither kept, nor handed on, nor asked for one of these?"""
    for user in closure([made], lambda o: o.uses if o is made or o.name == "bind" else ()):
        asked = (user.callee or user.path or "").rpartition(".")[2]
        if user is not made and (asked in ends or user.sunk or user.name not in READING):
            return False
    return True


def repeated(flow: FunctionFlow, op: Op) -> str | None:
    """Is a hook registered again and again on one and the same object: "loop", "call", or None?"""
    if _steps(flow, set(op.loops) - _fresh_loops(_roots(op), op.loops)):
        return "loop"
    if not flow.info.name or _made_here(op):
        return None
    owner = flow.program.project.owner(flow.info)
    if flow.info.name in STEPS and owner is not None and flow.program.project.is_module_class(owner) is Fact.YES:
        return "call"
    names = frozenset(root.path or "" for root in _roots(op) if root.name == "param")
    return "call" if _called_again(flow, names, 2) else None


def _roots(op: Op) -> list[Op]:
    return _behind(op.receiver.defs if op.receiver is not None else ())


def _behind(makers: Iterable[Op]) -> list[Op]:
    """What an object is taken out of, through loops, items, attributes and lists."""
    return list(closure(makers, lambda o: _sources(o) if o.name in SELECTING else ()))


def _sources(op: Op) -> list[Op]:
    outer = list(op.receiver.defs) if op.name == "load" and op.receiver is not None else []
    return [*outer, *(maker for maker in op.inputs if maker.name != "store")]


def _fresh_loops(roots: Iterable[Op], around: tuple[int, ...]) -> set[int]:
    """The loops `around` an operation in which the object that is hooked is another one each time."""
    loops: set[int] = set()
    for root in roots:
        if root.name == "iter":
            loops.update(root.loops[-1:])
        elif root.name not in SELECTING and root.name != "param":
            loops.update(root.loops if set(root.loops) <= set(around) else around)  # one of many made before
    return loops


def _steps(flow: FunctionFlow, loops: set[int]) -> bool:
    """Does one of the loops run a model? A loop that does not sets something up, once."""
    return any(op.name in ("step", "batch") or works(flow, op) for op in flow.ops if loops.intersection(op.loops))


def _made_here(op: Op) -> bool:
    """Is the hooked object made by the function itself?"""
    return not any(root.name in ("param", "load") for root in _roots(op))


def _called_again(flow: FunctionFlow, names: frozenset[str], depth: int) -> bool:
    positions = [i for i, p in enumerate(flow.info.parameters) if p.name in names]
    for site in flow.program.callers.sites(flow.info).calls:
        bound = flow.program.callers.bound(flow.info, site.op)
        given = [bound[i] for i in positions if i < len(bound)]
        makers = _behind(maker for a in given if a is not None for maker in a.value.defs)
        if _steps(site.flow, set(site.op.loops) - _fresh_loops(makers, site.op.loops)):
            return True
        own = bool(makers) and all(maker.name in SELECTING | {"param"} for maker in makers)
        given_on = frozenset(maker.path or "" for maker in makers if maker.name == "param")
        if depth and own and not site.op.loops and _called_again(site.flow, given_on, depth - 1):
            return True
    return False


# -- what the hook holds ----------------------------------------------------------------------------------------------


def captures(flow: FunctionFlow, nested: Closure, makers: tuple[Op, ...]) -> bool:
    """Does the nested function use, as a free variable, what these operations made?"""
    inside = set(walk(nested.node))
    return any(user.node in inside and user.depth > 0 for maker in makers for user in maker.uses)


def own_tensor(registration: Registration) -> bool:
    """Does a tensor's hook reference that very tensor, so that neither is ever collected?"""
    receiver, nested = registration.op.receiver, registration.callback.nested
    if receiver is None or nested is None or not registration.op.name.startswith("torch."):
        return False
    if receiver.graph is Fact.NO and not receiver.params:
        return False
    made = tuple(op for op in receiver.defs if op.name not in ("param", "load", "iter", "parameters"))
    return bool(made) and captures(registration.flow, nested, made)


def cycle(registration: Registration) -> bool:
    """Does a module, in its constructor, put a hook on a part of itself that references the module?"""
    flow, op = registration.flow, registration.op
    owner = flow.program.project.owner(flow.info) if flow.info.name == "__init__" else None
    if owner is None or flow.program.project.is_module_class(owner) is not Fact.YES or not flow.parameters:
        return False
    me = flow.parameters[0]
    roots = _roots(op)
    parts = [*roots, *(user for root in roots for user in root.uses if user.name == "store")]
    if me not in roots and not any((part.path or "").startswith(f"{me.path}.") for part in parts):
        return False
    callback = registration.callback
    if callback.nested is not None:
        return captures(flow, callback.nested, (me,)) or _reads(flow, callback.nested, f"{me.path}.")
    return callback.function is not None and callback.bound == 1 and callback.function.owner == owner.id


def _reads(flow: FunctionFlow, nested: Closure, prefix: str) -> bool:
    inside = set(walk(nested.node))
    return any(op.node in inside and (op.path or "").startswith(prefix) for op in flow.ops)


def value_of(role: str) -> Value:
    """What a hook is handed for a parameter of that role, in a forward with grad on."""
    if role == "module":
        return Value(kind=Kind.MODULE, graph=Fact.NO)
    if role == "inputs":
        return Value(kind=Kind.CONTAINER, graph=Fact.YES, name="tuple")
    if role == "output":
        return Value(kind=Kind.TENSOR, graph=Fact.YES, weak=True)
    if role == "gradients":
        return Value(kind=Kind.CONTAINER, graph=Fact.NO, name="tuple")
    if role == "gradient":
        return Value(kind=Kind.TENSOR, graph=Fact.NO)
    return Value()


def lasting(flow: FunctionFlow, op: Op) -> bool:
    """Is it an object that lives on: a module, or a weight? Hooks of an intermediate go with it."""
    if op.name == "register_hook" and (op.callee or "") != "register_hook":
        return True
    roots = _roots(op)
    return any(root.name == "parameters" for root in roots)
