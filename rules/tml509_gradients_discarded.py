from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.flow.events import FunctionClosed
from torchmemlint.flow.gradients import discarded


class GradientsDiscarded(Rule):
    """A backward fills the gradients of a network that the following step does not update, and they are thrown away.

    ## What it does
    Reports alternating training steps in which the loss of one network passes through another that trains too: the
    generator's loss through the discriminator.

    ## Why it costs memory
    The backward allocates one gradient for each parameter of the other network, saves the inputs of its layers for
    them,
    and the next `zero_grad` throws them away.

    ## Known limits
    A hint: how large the other network is, and where the peak lies, cannot be seen.

    ## Fix safety
    No fix is offered: `requires_grad_(False)` on the other network around the forward and backward, and back to `True`
    behind them.

    ## References
    - PyTorch documentation, "Autograd mechanics": setting requires_grad
    """

    code = "TML509"
    name = "gradients-discarded"
    severity = Severity.HINT
    words = frozenset({"backward"})

    @on(FunctionClosed)
    def check(self, event: FunctionClosed) -> Iterator[Finding]:
        """One finding a backward."""
        for found in discarded(event.function):
            names = " and ".join(f"`{name}`" for name in found.passes)
            message = (
                f"this backward also fills a gradient for every parameter of {names}, which the step behind it does "
                "not update: set requires_grad to False for this step"
            )
            related = tuple(
                (f"the loss passes through `{name}` here", Place(op.unit, op.node)) for name, op in found.passes.items()
            )
            yield self.finding(event, found.backward.node, message, related=related)
