from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import RUNS, Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.optimizers import rebuilt


class OptimizerRebuilt(Rule):
    """An optimizer is made anew in each round of a training loop, over the same parameters.

    ## What it does
    Reports optimizers that are constructed inside the loop in which they step, when the parameters they are given
    come from
    outside it and no argument changes with the round.

    ## Why it costs memory
    The moments of the last round are dropped and allocated again in the next first step, while the old optimizer, its
    scheduler and what else refers to it may still be bound: up to two sets of state, twice the parameters each for
    Adam. The
    training also loses its momentum.

    ## Known limits
    Silent where the model is made in the loop too, where the parameters are filtered anew, where an argument depends
    on the
    round, and where the loop runs over data, tasks or folds.

    ## Fix safety
    No fix is offered: keeping the state changes the training.

    ## References
    - PyTorch documentation, "torch.optim": constructing an optimizer
    """

    code = "TML505"
    name = "optimizer-rebuilt"
    severity = Severity.WARNING
    words = frozenset({"for", "while"})
    needs = (frozenset("optim Adam AdamW SGD RMSprop Adagrad Adadelta Adamax NAdam RAdam LBFGS Rprop".split()),)
    roles = RUNS

    @on(OpClosed, "construct")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a construction."""
        found = rebuilt(event.function, event.op)
        if found is None:
            return
        message = (
            "this optimizer is made anew in every round of the loop over the same parameters: its state is lost and "
            "allocated again; construct it before the loop"
        )
        yield self.finding(event, event.op.node, message, related=(("stepped here", Place(found.unit, found.node)),))
