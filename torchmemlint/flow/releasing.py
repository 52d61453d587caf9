"""Where the allocator's cache is emptied: beside the work of each step, or now and then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.enclosing import around
from torchmemlint.flow.flagged import Test, tests_of
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Op
from torchmemlint.flow.values import Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.callers import CallSite
    from torchmemlint.flow.function import FunctionFlow

HELPERS = 1  # that call one another
STEP = ("module", "backward", "step")


def same_step(flow: FunctionFlow, op: Op) -> Op | None:
    """The forward or backward that runs in the same loop body, once an iteration; none in a loop over models."""
    if not op.loops or op.handlers or any(o.loops == op.loops for o in flow.named("diagnostic.reset")):
        return None  # what each iteration needs is measured
    work = [o for o in flow.named(*STEP) if o.loops == op.loops and not o.depth]
    work = work or [o for o in flow.named("call") if o.loops == op.loops and not o.depth and _trains_once(flow, o)]
    makers = [m for o in work for value in _works_with(o) for m in value.defs]
    return work[0] if work and not any(m.loops == op.loops and not _stays(flow, m) for m in makers) else None


def _works_with(op: Op) -> list[Value]:
    """The model that a forward runs; what a function for a step is given, and the object that it is a method of."""
    if op.name == "call":
        given = [*(a.value for a in op.arguments), *([op.receiver] if op.receiver is not None else [])]
        return [value for value in given if value.kind in (Kind.MODULE, Kind.INSTANCE, Kind.OPTIMIZER)]
    return [op.receiver] if op.name == "module" and op.receiver is not None else []


def _trains_once(flow: FunctionFlow, call: Op) -> bool:
    """Is it a function of the project for one step? One for an epoch runs its backward in a loop."""
    info = flow.program.called(call)
    inner = flow.program.flow(info) if info is not None and "backward" in info.words else None
    return inner is not None and any(not o.loops and not o.depth for o in inner.named("backward"))


def _stays(flow: FunctionFlow, maker: Op) -> bool:
    """Is it an attribute that is read anew in each iteration and that only the constructor sets?"""
    own = flow.program.project.owner(flow.info)
    first = f"{flow.info.parameters[0].name}." if flow.info.parameters else ""
    if maker.name != "load" or own is None or not (maker.path or "").startswith(first):
        return False
    attribute = (maker.path or "").removeprefix(first).partition(".")[0]
    return all(method.name == "__init__" for method in flow.program.classes.assigners(own, attribute))


def each_step(flow: FunctionFlow, op: Op, depth: int = HELPERS) -> Iterator[tuple[CallSite, Op, bool]]:
    """The calls of a helper that run `op` beside the work of a step, with that work; whether it runs in each call."""
    surely = _unconditional(flow, op)
    for site in flow.program.callers.sites(flow.info).calls:
        work = same_step(site.flow, site.op)
        if work is not None:
            yield site, work, surely and not now_and_then(site.flow, site.op, work)
        elif depth and not site.op.loops and not site.op.handlers and not site.flow.named(*STEP):
            for further, work, always in each_step(site.flow, site.op, depth - 1):
                yield further, work, surely and always


def _unconditional(flow: FunctionFlow, op: Op) -> bool:
    """Is the operation run whenever its function is called, on a machine with an accelerator?"""
    path = around(flow, op.node)
    branches = [outer for outer, inner in zip(path, path[1:]) if isinstance(outer, cst.If) and inner is outer.body]
    return len(branches) == len(op.branches) and all(map(_has_accelerator, tests_of(flow, op)))


def _has_accelerator(test: Test) -> bool:
    """`if torch.cuda.is_available():`, and behind `if not torch.cuda.is_available(): return`"""
    asked = test.test
    return test.wanted and isinstance(asked, cst.Call) and (dotted(asked.func) or "").endswith("cuda.is_available")


def now_and_then(flow: FunctionFlow, op: Op, work: Op) -> bool:
    """Does a test decide on the operation that does not decide on the step's work?"""
    own = {id(test.test) for test in tests_of(flow, work)}
    return len(op.branches) > len(work.branches) or any(id(test.test) not in own for test in tests_of(flow, op))
