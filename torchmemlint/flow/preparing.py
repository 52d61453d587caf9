"""Calls by which a constructor prepares its own object, as `self.reset_parameters()`: what such a method does to the
values that it finds there changes nothing that is known of them, so it need not be interpreted for the call. (Most of
the circles among questions went through such calls: the method reads attributes, which the constructor makes.)"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.graph import Argument
from torchmemlint.flow.types import declares_data
from torchmemlint.flow.units import dotted
from torchmemlint.flow.values import HOST, Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.frame import Frame
    from torchmemlint.flow.program import Program
    from torchmemlint.index.model import ClassInfo, FunctionInfo

MODES = frozenset({"set_grad_enabled", "_set_grad_enabled", "__enter__", "enter_context"})
BY_NAME = frozenset({"setattr", "__dict__", "__setattr__"})
MOST = 12  # methods and functions that one may run


@dataclass(frozen=True)
class Reach:
    """What a method may touch, with all that it may run: attributes that look to be assigned, and all words but those
    that are attributes that are assigned and nothing else."""

    assigned: frozenset[str]
    read: frozenset[str]


def prepared(f: Frame, node: cst.Call, info: FunctionInfo, args: Sequence[Argument], receiver: Value | None) -> bool:
    """Is the call one of these? It is then noted, and what the method assigns anew is forgotten."""
    if f.info.name != "__init__" or f.depth or not _alone(f, node) or any(a.value.defs for a in args):
        return False
    own = f.info.parameters[0].name
    if receiver is None or [op.path for op in receiver.defs if op.name == "param"] != [own]:
        return False
    reach = f.program.questions.ask(("prepares", f.program.key(info)), lambda: _found(f.program, info), None)
    if reach is None or _fills(f, own, reach.read):
        return False
    op = f.op("call", node, HOST, arguments=args, callee=info.id, path=dotted(node.func))
    op.receiver, op.target = receiver, info.path
    for attribute in reach.assigned:
        f.state.env.pop(f"{own}.{attribute}", None)
    return True


def _alone(f: Frame, node: cst.Call) -> bool:
    """Is the call a statement, whose result nobody uses?"""
    return type(f.statement) is cst.Expr and f.statement.value is node


def _fills(f: Frame, own: str, read: frozenset[str]) -> bool:
    """May it put something into a list or dict that the object has by now? (Not into what is declared to hold data.)"""
    held = [(p, v) for p, v in f.state.env.items() if v.kind is Kind.CONTAINER and p.startswith(own + ".")]
    data = {p.name for p in f.info.parameters if declares_data(p.annotation)} if held else ()
    return any(
        (name in read or not name.isascii()) and not all(op.name == "param" and op.path in data for op in value.defs)
        for name, value in ((path.split(".")[1], value) for path, value in held)
    )


def _found(program: Program, info: FunctionInfo) -> Reach | None:
    """None where something that may run freezes a module, switches grad mode or assigns attributes by name, where a
    subclass has a method of its own, or where there is too much to tell."""
    owner = program.project.owner(info)
    if owner is None or info.is_generator or info.is_async:
        return None
    names = frozenset(m.name for base in program.project.mro(owner) for m in program.project.methods(base))
    own = frozenset(name for heir in program.project.subclasses(owner) for name in heir.methods)
    reached, waiting = {program.key(info)}, [info]
    assigned, read = set[str](), set[str]()
    while waiting:
        method = program.project.seen(waiting.pop())
        if method.owner is not None and method.name in own or not (MODES | BY_NAME).isdisjoint(method.words):
            return None
        if program.project.may_freeze(method):
            return None
        assigned |= program.classes.targets(method) if method.parameters else frozenset()
        read |= program.classes.read(method)
        for other in _runs(program, owner, names, method):
            if program.key(other) not in reached:
                reached.add(program.key(other))
                waiting.append(other)
        if len(reached) > MOST:
            return None
    return Reach(frozenset(assigned), frozenset(read))


def _runs(program: Program, owner: ClassInfo, names: frozenset[str], method: FunctionInfo) -> Iterator[FunctionInfo]:
    """The methods of the object and the functions of the project that a method names."""
    for name in sorted(method.words & names):
        found = program.project.method(owner, name)
        if found is not None:
            yield found
    header = program.project.header(method.path)
    for name in sorted(method.words & (header.globals | header.imports.keys())):
        function = program.function(program.global_value(header, name).name)
        if function is not None:
            yield function
