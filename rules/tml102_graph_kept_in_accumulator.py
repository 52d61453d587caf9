from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import RUNS, Finding, Rule, Severity, on
from torchmemlint.flow.events import HolderClosed
from torchmemlint.index.marks import ATTRIBUTE, KEEPERS, TOTAL

from ._kept import ATTACHING, verdicts


class GraphKeptInAccumulator(Rule):
    """A running total, average or counter is fed with a value that carries an autograd graph.

    ## What it does
    Reports `total += loss`, running and exponential averages, and meters that keep what they are given, when the value
    carries an autograd graph and the total never reaches a backward call.

    ## Why it costs memory
    The total's graph grows by one link an iteration. Where the values were never backpropagated, each link holds all
    activations of its forward pass; where their backward has run, only nodes in host memory are left.

    ## Known limits
    A total that is returned to code out of sight is a hint.

    ## Fix safety
    `.detach()` is put behind the added value: the sum stays the same tensor, without the graph. Safe where all readers
    of the total are known and none of them reaches a backward call.

    ## References
    - PyTorch documentation, "Frequently Asked Questions": don't accumulate history across your training loop
    """

    code = "TML102"
    name = "graph-kept-in-accumulator"
    severity = Severity.ERROR
    words = frozenset({ATTRIBUTE, KEEPERS, TOTAL})
    needs = (ATTACHING,)
    roles = RUNS

    @on(HolderClosed)
    def check(self, event: HolderClosed) -> Iterator[Finding]:
        """One finding a running total."""
        for verdict in verdicts(event):
            if verdict.store.how != "accumulate" or event.kind == "global":
                continue
            message = f"`{event.name}` adds up values with their autograd graphs: {verdict.bytes}"
            yield self.finding(
                event, verdict.node, message, severity=verdict.severity, related=verdict.related, fix=verdict.fix
            )
