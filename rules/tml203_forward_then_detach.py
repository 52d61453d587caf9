from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchmemlint.api import RUNS, Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.fixes import Plan, spell, wrap_in_with
from torchmemlint.flow.endings import OVER, at_once, dropped, single_row, trains
from torchmemlint.flow.events import ForwardClosed, FunctionClosed
from torchmemlint.flow.graph import Op, fact
from torchmemlint.flow.returning import unwalked_calls
from torchmemlint.flow.testcases import asserts, in_test, only_sized
from torchmemlint.flow.values import Fact
from torchmemlint.index.marks import GRAPHS, RUNS_MODULES


class ForwardThenDetach(Rule):
    """A forward in training code records a graph, and only detached or host copies of its result are ever used.

    ## What it does
    Reports module calls in functions that train, with grad on, whose result is read only through `.detach()`, `.data`,
    `.item()`, NumPy, logging or under `no_grad`: teachers, target networks, fake images of a discriminator step,
    previews, pseudo labels. Calls of the project's own functions that run such a forward and return its result count.

    ## Why it costs memory
    The whole forward saves its activations for a backward that never comes. `.detach()` on the result gives a second
    tensor without graph; the first one keeps its graph for as long as its name is bound, most often while the trained
    network runs its own forward and backward.

    ## Known limits
    A result that is handed to code out of sight, or returned to callers out of sight, is not reported. A forward on one
    observation made from host data is a hint, and so is a result that is detached in the same expression: its graph
    adds to the forward's own peak alone. So is a forward that a script or a test runs once, outside of all loops, and
    one of which only the result's sizes are read.

    ## Fix safety
    The statement is put under `with torch.no_grad():`. The numbers stay the same. Unsafe, because a forward that calls
    `torch.autograd.grad` itself would fail.

    ## References
    - PyTorch documentation, "Autograd mechanics": locally disabling gradient computation
    """

    code = "TML203"
    name = "forward-then-detach"
    severity = Severity.WARNING
    words = frozenset("detach data item cpu numpy tolist no_grad float print log append save_image backward".split())
    needs = (frozenset({RUNS_MODULES, "backward", "manual_backward"}), frozenset({RUNS_MODULES, GRAPHS}))
    roles = RUNS

    @on(ForwardClosed)
    def check(self, event: ForwardClosed) -> Iterator[Finding]:
        """One finding a forward."""
        op, flow = event.op, event.function
        ends = dropped(flow, op)
        if not ends or op.depth or not trains(flow, op) or not event.with_grad:
            return
        callee = op.path or "the module"
        until = "until it ends" if at_once(op) else "as long as the result is bound"
        message = (
            f"the forward of `{callee}` saves its activations though only detached or host copies of the result are "
            f"used; they stay allocated {until}"
        )
        related = (("the graph is cut off here", Place(ends[0].unit, ends[0].node)),)
        once = asserts(flow) or only_sized(op) or not op.loops and (in_test(flow) or not flow.info.name)
        severity = Severity.HINT if once or single_row(op) or at_once(op) else self.severity
        yield self.finding(event, op.node, message, severity=severity, related=related, fix=self._fix(event, op))

    @on(FunctionClosed)
    def check_calls(self, event: FunctionClosed) -> Iterator[Finding]:
        """One finding a call of a function that runs the forward and returns its result."""
        flow = event.function
        for call, ends, forward in unwalked_calls(flow):
            callee = call.path or flow.unit.text(call.node).partition("(")[0]
            message = (
                f"`{callee}` runs the forward of `{forward.path or 'a module'}` with grad on, and only detached or "
                "host copies of what it returns are used: the activations stay allocated as long as the result is bound"
            )
            related = (
                ("the forward", Place(forward.unit, forward.node)),
                ("the graph is cut off here", Place(ends[0].unit, ends[0].node)),
            )
            once = asserts(flow) or not call.loops and not flow.info.name
            severity = Severity.HINT if once or single_row(call) or at_once(call) else self.severity
            yield self.finding(event, call.node, message, severity=severity, related=related)

    @staticmethod
    def _fix(event: ForwardClosed, op: Op) -> Plan | None:
        unit, statement = event.function.unit, op.statement
        context = spell(unit, "torch.no_grad")
        if context is None or not isinstance(statement, (cst.Assign, cst.Expr, cst.AnnAssign)):
            return None
        if any(_walked(event, other) for other in event.function.ops if other.statement is statement):
            return None  # the statement makes more than that
        plan = wrap_in_with(unit, statement, statement, f"{context}()")
        return plan.titled("run the forward without grad").unsafe("a forward that computes gradients itself would fail")


def _walked(event: ForwardClosed, op: Op) -> bool:
    """Does the result carry a graph that a backward or code out of sight may need?"""
    return fact(op.value) is Fact.YES and bool(event.function.program.callers.sinks(event.function, op) - OVER)
