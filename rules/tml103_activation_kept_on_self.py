from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on, role
from torchmemlint.flow.events import HolderClosed
from torchmemlint.flow.flagged import asked_for
from torchmemlint.index.marks import ATTRIBUTE, KEEPERS

from ._kept import verdicts


class ActivationKeptOnSelf(Rule):
    """A forward pass or a step stores an intermediate with its autograd graph on the object.

    ## What it does
    Reports attributes (or list and dict attributes) of `self` to which an attached intermediate is assigned or added,
    when no method of the project reads it into a loss and nothing clears it within the step; in a forward also what is
    handed to a method of another object that adds it to a list or dict of its own.

    ## Why it costs memory
    The object lives as long as the model: the intermediate, and with it what its graph still holds, stays allocated
    after the step, beside the next one. A list on the object grows by one tensor each call.

    ## Known limits
    Readers are looked for by the attribute's name over the whole project; of reads through `getattr` with a computed
    name only those are seen that a method of the class or of a base runs a backward on. What a flag keeps that is off
    unless the constructor is told otherwise is a hint.

    ## Fix safety
    `.detach()` is put behind the value: safe where every reader is known. It frees the graph, not the value's own
    bytes; those go when the attribute does.

    ## References
    - PyTorch documentation, "CUDA semantics": memory management
    """

    code = "TML103"
    name = "activation-kept-on-self"
    severity = Severity.WARNING
    words = frozenset({ATTRIBUTE, KEEPERS})
    roles = frozenset({"forward", "function"})

    @on(HolderClosed)
    def check(self, event: HolderClosed) -> Iterator[Finding]:
        """One finding an attribute store."""
        handed = event.by_callee and role(event.function.info) == "forward"  # to another object, which keeps it
        if event.kind != "attribute" or event.by_callee and not handed:
            return
        for verdict in verdicts(event):
            how = verdict.store.how
            if how == "accumulate" or not (how == "assign" or event.in_module) or how == "assign" and handed:
                continue
            severity = verdict.severity
            if severity is Severity.ERROR and how == "assign":
                severity = Severity.WARNING  # one at a time: it does not grow
            if severity is Severity.WARNING and how == "assign" and asked_for(event.function, verdict.store.op):
                severity = Severity.HINT
            message = f"`{event.name}` keeps an intermediate with {verdict.held} after the call: {verdict.bytes}"
            yield self.finding(
                event, verdict.node, message, severity=severity, related=verdict.related, fix=verdict.fix
            )
