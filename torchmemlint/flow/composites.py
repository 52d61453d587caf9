"""Objects that hold others of their own kind and call them, as a sequence of blocks does: how are the parts run?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchmemlint.flow.graph import Mode, Op
from torchmemlint.index.marks import RUNS_MODULES

if TYPE_CHECKING:
    from torchmemlint.flow.program import Program
    from torchmemlint.index.model import ClassInfo, FunctionInfo

OUT_OF = frozenset({"iter", "item"})  # operations that take one of several objects


def run_by_composite(program: Program, info: FunctionInfo) -> bool:
    """Is it the `__call__` of a class of which another class of the family holds objects, and calls them with grad
    off?"""
    owner = program.project.owner(info) if info.name == "__call__" else None
    bases = program.project.mro(owner)[1:] if owner is not None else ()
    return any(_has_composite(program, base) for base in bases)


def _has_composite(program: Program, base: ClassInfo) -> bool:
    key = ("composite", program.key(base))
    return program.questions.ask(key, lambda: _composite(program, base), False)


def _composite(program: Program, base: ClassInfo) -> bool:
    own = [program.project.at(sub.path, sub.methods.get("__call__")) for sub in program.project.subclasses(base)]
    return any(_calls_parts(program, method) for method in own if method is not None)


def _calls_parts(program: Program, method: FunctionInfo) -> bool:
    if RUNS_MODULES not in program.project.marks(method) or program.entry_mode(method) is not Mode.OFF:
        return False
    flow = program.flow(method)
    return flow is not None and any(op.mode is Mode.OFF and _taken(op) for op in flow.named("?call"))


def _taken(call: Op) -> bool:
    """Is what is called one of several objects that `self` holds?"""
    return call.receiver is not None and any(op.name in OUT_OF for op in call.receiver.defs)
