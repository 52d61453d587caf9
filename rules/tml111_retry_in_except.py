from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.fixes import move_behind
from torchmemlint.flow.events import FunctionClosed, OpClosed
from torchmemlint.flow.exceptions import Handler, handles_memory, handling, kept_exceptions, recurs
from torchmemlint.flow.graph import Op
from torchmemlint.flow.work import failed_work, works
from torchmemlint.index.marks import CATCHES, GRAPHS, RUNS_MODULES

TEXTS = (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)


class RetryInExcept(Rule):
    """After an out-of-memory error the work is done again inside the `except` block, or the exception itself is kept.

    ## What it does
    Reports forward and backward passes inside an `except` block that handles memory running out, and exceptions of
    failed model calls that are stored on an object, in a container, in a global name, or in a name that is still bound
    while the next attempt runs.

    ## Why it costs memory
    An exception references its traceback, the traceback the frames of the failed attempt, and the frames their local
    tensors: inputs, activations, half-built graphs. They stay allocated while the handler runs, beside the retry, and
    as long as the exception is stored anywhere. Python drops the exception when the `except` block is left.

    ## Known limits
    A handler that catches a broad class such as `RuntimeError` is reported only where it looks at the message for
    "out of memory" or calls `empty_cache`. Work in the handler is seen where it runs a known module or a project
    function that does.

    ## Fix safety
    The rest of the block, from the retry on, moves behind it, under a flag that the block sets. Unsafe: what is called
    there no longer sees the exception as the one being handled, and errors of the retry no longer name it as their
    context. No fix where the rest of the block reads or raises the exception, or `else` or `finally` follow.

    ## References
    - PyTorch documentation, "Frequently Asked Questions": my out of memory exception handler can't allocate memory
    - Python documentation, "The try statement": the exception is deleted at the end of the except clause
    """

    code = "TML111"
    name = "retry-in-except"
    severity = Severity.WARNING
    words = frozenset({CATCHES, *"OutOfMemoryError RuntimeError MemoryError Exception BaseException".split()})
    needs = (
        frozenset({"except"}),
        frozenset({GRAPHS, RUNS_MODULES, "backward", "empty_cache"}),
    )

    @on(FunctionClosed)
    def retries(self, event: FunctionClosed) -> Iterator[Finding]:
        """One finding an except block: the first pass that runs in it."""
        seen: set[cst.CSTNode] = set()
        for op in event.function.ops:
            handler = next((h for h in reversed(op.handlers) if handles_memory(event.function, h)), None)
            if handler is None or handler.node in seen or op.attempts and op.attempts[-1] > handler.attempt:
                continue
            if not works(event.function, op) and not self._repeats(event, op, handler):
                continue
            seen.add(handler.node)
            what = event.function.unit.text(op.node)
            what = what if len(what) < 60 and "\n" not in what else "the retry"
            message = (
                f"`{what}` runs while the exception still holds the frames of the failed attempt and their "
                "tensors: retry after the `except` block"
            )
            plan = move_behind(handler.node, op.node).titled("retry behind the `except` block")
            fix = plan.unsafe("code behind the block no longer handles an exception")
            yield self.finding(event, op.node, message, related=self._failed(event, handler), fix=fix)

    @staticmethod
    def _repeats(event: FunctionClosed, op: Op, handler: Handler) -> bool:
        """Is it a call of the very function that failed, or of the one that the handler stands in?"""
        if op.name not in ("?call", "call") or op.callee is None:
            return False
        if recurs(event.function, op, handler):
            return True
        if not handler.out_of_memory:
            return False  # told by helpers alone: what is reset in both places is no retry
        if op.arguments and all(isinstance(a.node, TEXTS) for a in op.arguments):
            return False  # it reports
        tried = [o for o in event.function.ops if handler.attempt in o.attempts and o.name == op.name]
        return any(o.callee == op.callee and o.path == op.path and len(o.arguments) > 0 for o in tried)

    @staticmethod
    def _failed(event: FunctionClosed, handler: Handler) -> tuple[tuple[str, Place], ...]:
        first = next(failed_work(event.function, handler), None)
        return (("the attempt that failed", Place(first.unit, first.node)),) if first is not None else ()

    @on(OpClosed, "exception")
    def kept(self, event: OpClosed) -> Iterator[Finding]:
        """The exception goes into something that outlives the block."""
        op = event.op
        handler = handling(event.function, op)
        if handler is None:
            return
        tried = next(failed_work(event.function, handler), None)
        if tried is None and not handler.out_of_memory:
            return
        for path, place in kept_exceptions(op, handler):
            message = (
                f"`{path}` keeps the exception, its traceback and with it the tensors in the frames "
                "of the failed attempt: keep its text"
            )
            yield self.finding(event, place.node, message, related=self._failed_at(tried))

    @staticmethod
    def _failed_at(op: Op | None) -> tuple[tuple[str, Place], ...]:
        return (("the attempt that failed", Place(op.unit, op.node)),) if op is not None else ()
