from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.flow.events import HolderClosed
from torchmemlint.index.marks import ATTRIBUTE, KEEPERS

from ._kept import verdicts


class ActivationKeptGlobally(Rule):
    """An intermediate with its autograd graph is stored in a module-level name, a class attribute or a closure.

    ## What it does
    Reports stores of attached values into module-level variables, class attributes, function attributes, default
    arguments and cells of enclosing functions, when nothing that reads them reaches a backward call.

    ## Why it costs memory
    What a module-level name holds lives until the process ends or the name is rebound: the value, and every activation
    that its graph still holds.

    ## Known limits
    Containers passed through code out of sight are hints.

    ## Fix safety
    `.detach()` is put behind the stored value; safe where every reader is known.

    ## References
    - PyTorch documentation, "Frequently Asked Questions": don't hold onto tensors and variables you don't need
    """

    code = "TML104"
    name = "activation-kept-globally"
    severity = Severity.ERROR
    words = frozenset({ATTRIBUTE, KEEPERS, "global", "nonlocal"})
    roles = frozenset({"module", "forward", "function"})

    @on(HolderClosed)
    def check(self, event: HolderClosed) -> Iterator[Finding]:
        """One finding a store."""
        if event.kind != "global":
            return
        for verdict in verdicts(event):
            message = f"`{event.name}` lives as long as the process and keeps {verdict.held}: {verdict.bytes}"
            yield self.finding(
                event, verdict.node, message, severity=verdict.severity, related=verdict.related, fix=verdict.fix
            )
