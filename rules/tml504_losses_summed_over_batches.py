from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import RUNS, Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.flow.events import FunctionClosed
from torchmemlint.flow.losses import Summed, returned_terms, summed
from torchmemlint.index.marks import LOOPS


class LossesSummedOverBatches(Rule):
    """The losses of several forward passes are summed and backpropagated together, so all their graphs live at once.

    ## What it does
    Reports losses that are added up or collected over a loop with one backward behind it, and sums of terms that share
    no forward pass.

    ## Why it costs memory
    Each term keeps the activations of its own forward pass until the one backward. Backpropagated one by one they add
    up to the same gradients, and each graph is freed before the next is recorded. Measured with six micro-batches: 289
    instead of 77 MiB.

    ## Known limits
    A warning needs a loop over a loader, or over the pieces of a batch with the backward behind it; other loops and
    sums of terms are hints. Silent where passes hand state on (recurrence), where the terms are combined other than by
    a weighted sum, and where the backward is differentiated itself.

    ## Fix safety
    No fix is offered: the backward moves into the loop, with the weight of the mean on each term.

    ## References
    - PyTorch documentation, "Automatic Mixed Precision examples": gradient accumulation
    """

    code = "TML504"
    name = "losses-summed-over-batches"
    severity = Severity.WARNING
    words = frozenset("backward return yield".split())
    loud = (frozenset({LOOPS}),)
    file_words = frozenset({"backward"})
    roles = RUNS

    @on(FunctionClosed)
    def check(self, event: FunctionClosed) -> Iterator[Finding]:
        """One finding a backward, or a function that returns the terms."""
        for found in (*summed(event.function), *returned_terms(event.function)):
            yield self._found(event, found)

    def _found(self, event: FunctionClosed, found: Summed) -> Finding:
        related: tuple[tuple[str, Place], ...] = (
            ("walked together here", Place(found.backward.unit, found.backward.node)),
        )
        if found.over == "terms":
            later = found.later
            if found.place is not later:
                related = (("this pass runs while the other graph waits", Place(later.unit, later.node)), *related)
            message = (
                "the losses in this sum share no forward, and all their graphs wait for one backward: backpropagate "
                "each loss when it is made"
            )
            return self.finding(event, found.place.node, message, severity=Severity.HINT, related=related)
        message = (
            "the activations of every iteration's forward stay alive until one backward walks the sum of their losses: "
            "backpropagate each loss in its iteration"
        )
        taken = {op.node for op in event.function.named("torch.autograd.grad")}  # gradients, then summed by hand
        here = found.backward.unit is event.function.unit and found.later.name != "call"  # nobody else's
        here = here and found.over == "pieces"
        sure = (found.over == "batches" or here) and found.backward.node not in taken
        severity = self.severity if sure else Severity.HINT
        return self.finding(event, found.place.node, message, severity=severity, related=related)
