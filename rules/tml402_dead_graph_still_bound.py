from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.flow.events import FunctionClosed
from torchmemlint.flow.graph import closure
from torchmemlint.flow.lifetimes import Lingering, Span, lingering
from torchmemlint.flow.liveness import Held, Weight
from torchmemlint.flow.testcases import asserts, only_asserted

from ._retire import retire

BYTES = {
    Weight.BATCH: "a batch of data",
    Weight.ACTIVATION: "a result of the forward",
    Weight.GRAPH: "a result and its autograd graph, which no backward frees",
    Weight.MODEL: "weights, a whole model's size,",
    Weight.DATASET: "a result that grows with the data",
}
UNTIL = {
    Span.GRAPH: "while the next forward or backward runs",
    Span.TRAINING: "through the whole training loop",
    Span.VALIDATION: "while the evaluation called here runs",
    Span.BRANCH: "in every iteration until this branch is taken again",
    Span.NEXT: "until this statement has run again in the next iteration",
    Span.UNREAD: "that is never read, while the backward or the next forward runs",
    Span.TERMS: "while what follows from their sum is computed",
    Span.REPLACED: "while the module that replaces it is made",
}


class DeadGraphStillBound(Rule):
    """A name still holds a heavy value at a peak of memory though nothing reads it again.

    ## What it does
    Reports names that are bound and dead while a forward, a backward, an evaluation or a whole training loop runs: a
    graph that no backward frees, tables and features of the set-up, the training step's tensors during validation,
    previews made in a branch, score-sized terms behind their sum, results that are unpacked and never read (`_` is a
    name, too).

    ## Why it costs memory
    A tensor is freed when its last reference goes. A local lives until it is bound anew, deleted or the function
    returns; at module level, until the program ends. What is dead but bound adds to the peak of what runs meanwhile. In
    a training step itself, results cost nothing before the backward, whose graph holds them anyway.

    ## Known limits
    Sizes are not known: only graphs, whole modules and results that grow with the data are warnings; single batches
    and outputs are hints, and what a test makes or a script only asserts about. Names read by nested functions
    count as read.

    ## Fix safety
    `del` is put behind the statement that reads the names last; safe in a function, unsafe at module level, where
    another module may import the name.

    ## References
    - PyTorch documentation, "Frequently Asked Questions": don't hold onto tensors and variables you don't need
    """

    code = "TML402"
    name = "dead-graph-still-bound"
    severity = Severity.WARNING
    words = frozenset("backward eval inference_mode no_grad step model clone einsum matmul bmm".split())
    loud = (frozenset("backward manual_backward zero_grad step train fit".split()),)
    loud_roles = frozenset({"module", "function"})

    @on(FunctionClosed)
    def check(self, event: FunctionClosed) -> Iterator[Finding]:
        """One finding a binding statement and span."""
        for found in lingering(event.function):
            names = " and ".join(dict.fromkeys(f"`{held.path}`" for held in found.held))
            plural = "" if len(found.held) > 1 else "s"
            again = "" if found.span is Span.UNREAD else ", and no statement reads it again"
            what = "a product of all pairs" if found.span is Span.TERMS else BYTES[found.weight]
            message = f"{names} still hold{plural} {what} {UNTIL[found.span]}{again}"
            first = found.held[0]
            at = found.peak if found.span is Span.VALIDATION else first.bind
            if found.span is Span.TERMS:
                at = found.held[-1].bind
            related = (("this runs meanwhile", Place(found.peak.unit, found.peak.node)),)
            fix = retire(event.function, [held.bind for held in found.held], found.peak)
            yield self.finding(event, at.node, message, severity=self._severity(event, found), related=related, fix=fix)

    def _severity(self, event: FunctionClosed, found: Lingering) -> Severity:
        if found.span is Span.GRAPH:
            script = not event.function.info.name
            tried = asserts(event.function) or script and all(map(_unread, found.held))
            return Severity.HINT if tried else self.severity
        heavy = found.span is Span.TRAINING and found.weight in (Weight.DATASET, Weight.MODEL)
        return self.severity if heavy else Severity.HINT


def _unread(held: Held) -> bool:
    """Does nothing compute with the result, or ask for more than its shape, as where a module is run to see that it
    runs?"""
    made = closure(held.bind.inputs, lambda o: o.inputs if o.name in ("item", "literal.tuple") else ())
    return all(only_asserted(op) or not op.consumers for op in made)
