"""Calls by which a constructor prepares its own object, as `self.reset_parameters()`: what such a method does to the
values that it finds there changes nothing that is known of them, so it need not be interpreted for the call. (Most of
the circles among questions went through such calls: the method reads attributes, which the constructor makes.)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.graph import Argument
from torchmemlint.flow.units import dotted
from torchmemlint.flow.values import HOST, Value

if TYPE_CHECKING:
    from torchmemlint.flow.frame import Frame
    from torchmemlint.flow.program import Program
    from torchmemlint.index.model import FunctionInfo

MODES = frozenset({"set_grad_enabled", "_set_grad_enabled", "__enter__", "enter_context"})
MOST = 12  # methods that one may run


def prepared(f: Frame, node: cst.Call, info: FunctionInfo, args: Sequence[Argument], receiver: Value | None) -> bool:
    """Is the call one of these? It is then noted, and what the method assigns anew is forgotten."""
    if f.info.name != "__init__" or f.depth or not _alone(f, node) or any(a.value.defs for a in args):
        return False
    if receiver is None or [op.path for op in receiver.defs if op.name == "param"] != [f.info.parameters[0].name]:
        return False
    assigned = _assigned(f.program, info)
    if assigned is None:
        return False
    op = f.op("call", node, HOST, arguments=args, callee=info.id, path=dotted(node.func))
    op.receiver, op.target = receiver, info.path
    for attribute in assigned:
        f.state.env.pop(f"{f.info.parameters[0].name}.{attribute}", None)
    return True


def _alone(f: Frame, node: cst.Call) -> bool:
    """Is the call a statement, whose result nobody uses?"""
    return type(f.statement) is cst.Expr and f.statement.value is node


def _assigned(program: Program, info: FunctionInfo) -> frozenset[str] | None:
    """The attributes that the method and those of the object that it may call assign, as their text tells; None where
    one of them may freeze a module or switch grad mode, or where there are too many to tell."""
    return program.questions.ask(("prepares", program.key(info)), lambda: _found(program, info), None)


def _found(program: Program, info: FunctionInfo) -> frozenset[str] | None:
    owner = program.project.owner(info)
    if owner is None or info.is_generator or info.is_async:
        return None
    names = frozenset(m.name for base in program.project.mro(owner) for m in program.project.methods(base))
    reached, waiting = {info.name}, [info]
    assigned: set[str] = set()
    while waiting:
        method = program.project.seen(waiting.pop())
        if not method.parameters or not MODES.isdisjoint(method.words) or program.project.may_freeze(method):
            return None
        assigned |= program.classes.targets(method)
        for name in sorted((method.words & names) - reached):
            reached.add(name)
            other = program.project.method(owner, name)
            waiting += [other] if other is not None else []
        if len(reached) > MOST:
            return None
    return frozenset(assigned)
