from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.fixes import Plan, delete_statement
from torchmemlint.flow.debugging import profiled_loop, scheduled, switched_on
from torchmemlint.flow.events import OpClosed


class DebugModeLeftOn(Rule):
    """A debugging aid stays on for the whole run: anomaly detection, a profiler without schedule, allocation records.

    ## What it does
    Reports `set_detect_anomaly(True)` and `_record_memory_history()` as unconditional statements that nothing switches
    off again, and profilers without a schedule around a whole loop of steps.

    ## Why it costs memory
    They take host memory and time; on the device they keep nothing. The profiler keeps every operator event
    of every step until its context is left (measured: about 3 MB a step); anomaly detection keeps the Python stack of
    every operator of the graph and took 2.16 times as long; the allocation record grows without bound unless
    `max_entries` is given.

    ## Known limits
    Calls behind a condition or with a variable flag count as meant, and so do loops of a small written number of steps.

    ## Fix safety
    The statement is deleted. Unsafe: without anomaly detection a run with a faulty gradient goes on.

    ## References
    - PyTorch documentation, "torch.profiler": schedule
    """

    code = "TML406"
    name = "debug-mode-left-on"
    severity = Severity.WARNING
    words = frozenset({"set_detect_anomaly", "profile", "_record_memory_history"})

    @on(OpClosed, "diagnostic.anomaly")
    def check_anomaly(self, event: OpClosed) -> Iterator[Finding]:
        """Anomaly detection switched on for good."""
        if switched_on(event.op) and not self._switched_off(event):
            message = (
                "anomaly detection stays on: every operator of the graph keeps its Python stack in host memory, and "
                "each step takes about twice as long"
            )
            yield self.finding(event, event.op.node, message, fix=self._removal(event))

    @on(OpClosed, "diagnostic.history")
    def check_history(self, event: OpClosed) -> Iterator[Finding]:
        """The record of allocations switched on for good."""
        bounded = any(a.name in ("max_entries", "*", "**") for a in event.op.arguments)
        if switched_on(event.op) and not bounded and not self._switched_off(event):
            message = "the record of allocations stays on: it grows in host memory with every allocation until the end"
            yield self.finding(event, event.op.node, message, fix=self._removal(event))

    @on(OpClosed, "diagnostic.profiler")
    def check_profiler(self, event: OpClosed) -> Iterator[Finding]:
        """A profiler around a loop that keeps every step."""
        work = profiled_loop(event.function, event.op)
        if work is None or scheduled(event.op):
            return
        message = (
            "the profiler has no schedule: the operator events of every step of the loop stay in host memory until its "
            "context is left"
        )
        yield self.finding(event, event.op.node, message, related=(("it records this", Place(work.unit, work.node)),))

    @staticmethod
    def _switched_off(event: OpClosed) -> bool:
        return any(other is not event.op and not switched_on(other) for other in event.function.named(event.op.name))

    @staticmethod
    def _removal(event: OpClosed) -> Plan | None:
        statement = event.op.statement
        if not isinstance(statement, cst.Expr):
            return None
        return delete_statement(statement).unsafe("a run with a faulty gradient then goes on")
