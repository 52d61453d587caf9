from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, replace, swap_calls
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import closure
from torchmemlint.flow.handed import runs_with_grad

from ._copies import method

NOT_RECORDED = frozenset({"torch.data", "torch.detach"})


class CloneBeforeDetach(Rule):
    """`x.clone().detach()` records a graph node for the clone and drops it at once.

    ## What it does
    Reports a clone whose only consumer detaches it.

    ## Why it costs memory
    It doesn't: both orders were measured to the same byte. The clone is recorded as one node of the autograd graph,
    which the detach throws away; `x.detach().clone()` records nothing.

    ## Known limits
    Only the two calls in one expression are reported.

    ## Fix safety
    Safe: swapping the calls gives the same values, storage and graph.

    ## References
    - PyTorch documentation, `torch.Tensor.detach`
    """

    code = "TML304"
    name = "clone-before-detach"
    severity = Severity.HINT

    @on(OpClosed, "torch.detach")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a pair of calls."""
        op = event.op
        makers = op.receiver.defs if op.receiver is not None else ()
        if len(makers) != 1 or makers[0].name != "torch.clone" or makers[0].node is not op.receiver_node:
            return
        defs = makers[0].receiver.defs if makers[0].receiver is not None else ()
        given = closure(defs, lambda o: o.inputs if o.name == "torch.clone" else ())
        if not runs_with_grad(event.function, makers[0]) or any(o.name in NOT_RECORDED for o in given):
            return
        message = "the clone is recorded in the autograd graph and detached at once: detach first (no bytes, one node)"
        source = makers[0].receiver_node
        if method(op) and method(makers[0]):
            plan = swap_calls(op.node)
        elif source is not None and not makers[0].arguments:
            plan = replace(op.node, source, ".detach().clone()")
        else:
            yield self.finding(event, op.node, message)
            return
        yield self.finding(event, op.node, message, fix=Plan("detach, then clone", plan.steps))
