from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import RUNS, Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.flow.events import FunctionClosed
from torchmemlint.flow.gradients import Alive, alive_in_evaluation, alive_in_forward

TEXTS = {
    "cleared late": "the last step's gradients, as large as the parameters, stay allocated through this forward: "
    "clear them right after the step",
    "never cleared": "gradients are never cleared: one set, as large as the parameters, stays allocated during every "
    "forward, and each backward adds to it",
    "evaluation": "the last step's gradients, as large as the parameters, stay allocated in this evaluation: clear "
    "them right after the step",
}


class GradientsAliveInForward(Rule):
    """The gradients of the last step stay allocated while the next forward or an evaluation runs.

    ## What it does
    Reports `zero_grad()` between a forward and its backward, training loops that never clear gradients, and evaluations
    over many batches that start before the last step's gradients are cleared.

    ## Why it costs memory
    Between the optimizer's step and the next backward nothing reads the gradients, but they take as much memory as the
    parameters. Cleared behind the step they are gone while activations grow. Measured with 192 MiB of gradients: 960
    instead of 768 MiB at the end of the forward.

    ## Known limits
    A hint: where the peak lies in the backward or in the step, as mostly, it does not fall. Accumulation over several
    batches needs the gradients and is silent.

    ## Fix safety
    No fix is offered: moving the call changes what a break or an exception between the two leaves behind.

    ## References
    - PyTorch documentation, "torch.optim.Optimizer.zero_grad"
    """

    code = "TML502"
    name = "gradients-alive-in-forward"
    severity = Severity.HINT
    words = frozenset("zero_grad backward for while".split())
    file_words = frozenset("zero_grad backward".split())
    roles = RUNS

    @on(FunctionClosed)
    def check(self, event: FunctionClosed) -> Iterator[Finding]:
        """One finding a place where they should be gone."""
        for alive in (*alive_in_forward(event.function), *alive_in_evaluation(event.function)):
            yield self._found(event, alive)

    def _found(self, event: FunctionClosed, alive: Alive) -> Finding:
        related = (
            ()
            if alive.peak is alive.op
            else (("this forward runs beside them", Place(alive.peak.unit, alive.peak.node)),)
        )
        return self.finding(event, alive.op.node, TEXTS[alive.how], related=related)
