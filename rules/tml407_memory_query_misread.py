from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.fixes import Plan, rename_attribute
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.queries import asks_driver, never_reset, repeated
from torchmemlint.knowledge.diagnostics import renamed


class MemoryQueryMisread(Rule):
    """The allocator is asked by a name that was replaced, or its answer does not mean what it is read for.

    ## What it does
    Reports the replaced queries `memory_cached`, `max_memory_cached` and `reset_max_memory_*`, `Tensor.storage()`, a
    peak that is read once a configuration and never reset, and `nvidia-smi` asked for the memory of a program.

    ## Why it costs memory
    It costs none; it hides what does. The peak is a high-water mark since the start of the process: after one large
    configuration all later rows repeat its figure. `nvidia-smi` shows the CUDA context and every cached block, which
    `del` does not change. The replaced resets clear all peak figures, not the one in their name.

    ## Known limits
    A peak is only looked at where it is read in a loop, or in a function called in one, and no file that imports link
    with this one resets it.

    ## Fix safety
    Replaced names are renamed to those that they call: safe. `storage()` to `untyped_storage()` is unsafe: its size is
    counted in bytes, not in elements.

    ## References
    - PyTorch documentation, "torch.cuda": memory management
    """

    code = "TML407"
    name = "memory-query-misread"
    severity = Severity.WARNING
    words = frozenset(
        "memory_cached max_memory_cached reset_max_memory_allocated reset_max_memory_cached storage "
        "max_memory_allocated max_memory_reserved run check_output getoutput popen Popen system".split()
    )
    loud = (frozenset("memory_cached max_memory_cached reset_max_memory_allocated reset_max_memory_cached".split()),)

    @on(OpClosed, "diagnostic.query", "diagnostic.peak", "diagnostic.reset")
    def check_name(self, event: OpClosed) -> Iterator[Finding]:
        """A query or reset by its old name."""
        op = event.op
        new = renamed(op.callee or "")
        if new is None or not isinstance(op.node, cst.Call):
            return
        old = (op.callee or "").rpartition(".")[2]
        message = f"`{old}` is the deprecated name of `{new}`: it counts all blocks that the allocator keeps"
        if old.startswith("reset"):
            message = f"`{old}` is deprecated: it calls `{new}`, which resets every peak, not the one in its name"
        fix = self._rename(op.node, new)
        yield self.finding(event, op.node, message, fix=fix)

    @staticmethod
    def _rename(call: cst.Call, new: str) -> Plan | None:
        return rename_attribute(call.func, new) if isinstance(call.func, cst.Attribute) else None

    @on(OpClosed, "diagnostic.peak")
    def check_peak(self, event: OpClosed) -> Iterator[Finding]:
        """A peak that is read again and again but never reset."""
        op, flow = event.op, event.function
        again = repeated(flow, op)
        if again is None or not never_reset(flow):
            return
        message = (
            "the peak counts from the start of the process: without `reset_peak_memory_stats` every later reading "
            "repeats the largest one so far"
        )
        related = (("read again in this loop", Place(again.unit, again.node)),) if again is not op else ()
        yield self.finding(event, op.node, message, severity=Severity.HINT, related=related)

    @on(OpClosed, "torch.storage")
    def check_storage(self, event: OpClosed) -> Iterator[Finding]:
        """The typed storage."""
        node = event.op.node
        if isinstance(node, cst.Call) and not event.op.arguments:
            fix = self._rename(node, "untyped_storage")
            message = "`storage()` gives the deprecated typed storage: its size counts elements, not bytes"
            reason = "the size of an untyped storage counts bytes"
            plan = fix.unsafe(reason) if fix is not None else None
            yield self.finding(event, node, message, severity=Severity.HINT, fix=plan)

    @on(OpClosed, "diagnostic.shell")
    def check_driver(self, event: OpClosed) -> Iterator[Finding]:
        """The driver's view taken for the program's."""
        if asks_driver(event.op):
            message = (
                "`nvidia-smi` shows the context and all cached blocks, which do not fall when tensors are freed; "
                "`torch.cuda.memory_allocated()` tells what tensors hold"
            )
            yield self.finding(event, event.op.node, message, severity=Severity.HINT)
