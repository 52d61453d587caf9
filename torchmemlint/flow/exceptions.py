"""What is caught where: the except blocks around an operation, and the work that failed before them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.graph import Op

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

WORK = frozenset({"module", "backward", "custom", "torch.autograd.grad"})
BROAD = frozenset({"RuntimeError", "Exception", "BaseException", "MemoryError"})


@dataclass(frozen=True, eq=False)
class Handler:
    """One except block. `attempt` is the number of its try statement, which operations of the try body carry too."""

    node: cst.ExceptHandler | cst.ExceptStarHandler
    caught: str  # as written: "torch.OutOfMemoryError", "(RuntimeError, ValueError)"
    attempt: int
    text: str = ""  # the block's own source

    @property
    def out_of_memory(self) -> bool:
        """Does it surely handle memory running out: by the exception's name, or by a look at its message?"""
        return "OutOfMemoryError" in self.caught or (self.broad and "out of memory" in self.text.lower())

    @property
    def broad(self) -> bool:
        """Does it catch, among others, the error that PyTorch raises when memory runs out?"""
        return any(name in self.caught for name in BROAD)


def failed_work(flow: FunctionFlow, handler: Handler) -> Iterator[Op]:
    """Forward passes, backward calls and calls that run them in the try body of a handler."""
    for op in flow.ops:
        if handler.attempt in op.attempts and works(flow, op):
            yield op


def works(flow: FunctionFlow, op: Op) -> bool:
    """Does the operation run a forward or backward pass, itself or in the project function that it calls?"""
    if op.name in WORK:
        return True
    return op.name == "call" and _runs_model(flow, op, 3)


def _runs_model(flow: FunctionFlow, op: Op, depth: int) -> bool:
    project = flow.program.project
    file = project.files.get(op.target or "")
    info = file.functions.get(op.callee or "") if file is not None else None
    inner = flow.program.flow(info) if info is not None and depth else None
    if inner is None:
        return False
    if any(o.name in WORK or o.name in ("?call", "iter") and _applies_parameter(inner, o) for o in inner.ops):
        return True
    return any(o.name == "call" and _runs_model(inner, o, depth - 1) for o in inner.ops)


def _applies_parameter(flow: FunctionFlow, op: Op) -> bool:
    """A call of one of the function's own parameters: a model that it was given."""
    called = op.name == "?call" and op.depth == 0 and bool(op.arguments)
    return called and op.callee in {p.name for p in flow.info.parameters}
