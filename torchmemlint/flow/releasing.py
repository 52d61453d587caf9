"""Where the allocator's cache is emptied: beside the work of each step, or now and then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.enclosing import around
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Op

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

STEP = ("module", "backward", "step")


def same_step(flow: FunctionFlow, op: Op) -> Op | None:
    """The forward or backward that runs in the same loop body, once an iteration; none in a loop over models."""
    if not op.loops or op.handlers:
        return None
    work = [o for o in flow.named(*STEP) if o.loops == op.loops and not o.depth]
    makers = [m for o in work if o.name == "module" and o.receiver is not None for m in o.receiver.defs]
    return work[0] if work and not any(m.loops == op.loops and not _stays(flow, m) for m in makers) else None


def _stays(flow: FunctionFlow, maker: Op) -> bool:
    """Is it an attribute that is read anew in each iteration and that only the constructor sets?"""
    own = flow.program.project.owner(flow.info)
    first = f"{flow.info.parameters[0].name}." if flow.info.parameters else ""
    if maker.name != "load" or own is None or not (maker.path or "").startswith(first):
        return False
    attribute = (maker.path or "").removeprefix(first).partition(".")[0]
    return all(method.name == "__init__" for method in flow.program.classes.assigners(own, attribute))


def unconditional(flow: FunctionFlow, op: Op) -> bool:
    """Is the operation run whenever its function is called, on a machine with an accelerator?"""
    path = around(flow, op.node)
    tests = [outer.test for outer, inner in zip(path, path[1:]) if isinstance(outer, cst.If) and inner is outer.body]
    return len(tests) == len(op.branches) and all(
        isinstance(test, cst.Call) and (dotted(test.func) or "").endswith("cuda.is_available") for test in tests
    )
