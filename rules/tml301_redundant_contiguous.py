from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, unwrap_call
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.values import Layout

from ._copies import method


class RedundantContiguous(Rule):
    """`.contiguous()` on a tensor that is contiguous already, or right before a `reshape`.

    ## What it does
    Reports `.contiguous()` on fresh results of operators, on views and reshapes of contiguous tensors, on the result
    of another `.contiguous()`, and where the only consumer is a `reshape`.

    ## Why it costs memory
    It doesn't: on a contiguous tensor the call returns its argument, and before a `reshape` that has to copy it is
    that same copy. Zero bytes; dead code that hides which copies are real.

    ## Known limits
    Layouts that depend on code out of sight are unknown, and silent.

    ## Fix safety
    Removing the call is safe on a contiguous tensor. Before a `reshape` it is unsafe: where the strides allow a view,
    the result then shares the storage of the tensor.

    ## References
    - PyTorch documentation, "Tensor Views"
    """

    code = "TML301"
    name = "redundant-contiguous"
    severity = Severity.HINT

    @on(OpClosed, "torch.contiguous")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a call."""
        op = event.op
        if op.arguments or op.receiver is None or not method(op):
            return
        if op.receiver.layout is Layout.CONTIGUOUS:
            message = "the tensor is contiguous already: the call returns it unchanged, zero bytes"
            plan = unwrap_call(op.node)
            yield self.finding(event, op.node, message, fix=Plan("remove the call", plan.steps))
        elif op.consumers and all(user.name == "torch.reshape" for user in op.consumers):
            message = "`reshape` copies where it has to: the copy before it saves nothing"
            plan = unwrap_call(op.node)
            reason = "where the strides allow a view, the result then shares the tensor's storage"
            yield self.finding(event, op.node, message, fix=Plan("remove the call", plan.steps, False, reason))
