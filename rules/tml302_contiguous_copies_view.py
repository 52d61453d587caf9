from __future__ import annotations

from collections.abc import Iterator

from torchmemlint import knowledge
from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, unwrap_call
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op, written
from torchmemlint.flow.values import Layout


class ContiguousCopiesView(Rule):
    """`.contiguous()` copies a strided view although every consumer takes strides.

    ## What it does
    Reports `.contiguous()` on a sliced, transposed, permuted or expanded view when each operator that reads the result
    works on strided tensors, and neither the copy nor its source is written afterwards.

    ## Why it costs memory
    One whole extra copy of the view is allocated, and of an expanded view one as large as the expansion.

    ## Known limits
    Consumers that are not known to take strides (custom kernels, collectives, `view`, code out of sight) keep the rule
    silent. A contiguous operand can be faster in a matrix product that runs often.

    ## Fix safety
    Unsafe: the values are equal, but results may have other strides or round differently in another kernel.

    ## References
    - PyTorch documentation, "Tensor Views"
    """

    code = "TML302"
    name = "contiguous-copies-view"
    severity = Severity.WARNING

    @on(OpClosed, "torch.contiguous")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a call."""
        op = event.op
        if op.receiver is None or op.arguments or op.receiver.layout is not Layout.STRIDED:
            return
        consumers = op.consumers
        if not consumers or not all(self._takes_strides(user) for user in consumers) or written(op, op.receiver):
            return
        shown = event.function.unit.text(op.receiver_node) if op.receiver_node is not None else "the view"
        message = f"one more copy of `{shown}`: every operator that reads it takes strided tensors"
        reason = "results may have other strides or round differently"
        plan = Plan("remove the call", unwrap_call(op.node).steps, False, reason)
        yield self.finding(event, op.node, message, fix=plan)

    @staticmethod
    def _takes_strides(user: Op) -> bool:
        return user.name not in ("torch.reshape", "torch.contiguous", "torch.clone") and knowledge.accepts_strides(user.name) == "yes"
