from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, remove_keyword
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.optimizers import gradient_of, keeps_on_purpose
from torchmemlint.flow.patterns import number
from torchmemlint.flow.testcases import in_test


class ZeroGradKeepsBuffers(Rule):
    """Gradients are set to zero instead of being freed between two steps.

    ## What it does
    Reports `zero_grad(set_to_none=False)` and loops that call `p.grad.zero_()` for the parameters of a module.

    ## Why it costs memory
    One set of gradients, as large as the parameters, stays allocated through the next forward, where the activations
    grow
    towards the peak, and through evaluations. Measured with a gradient set of 192 MiB: a peak of 1216 instead of 1024
    MiB.
    With `set_to_none=True`, the default, the buffers are free until the next backward needs them.

    ## Known limits
    Silent in files that flatten gradients, let DistributedDataParallel view its buckets, capture CUDA graphs or fill
    gradients from other processes: there the buffers must stay.

    ## Fix safety
    The keyword is removed. Unsafe: a parameter that gets no gradient in a step is then skipped by the optimizer,
    where a
    zero gradient still applies momentum and weight decay, and reading `p.grad` gives `None`.

    ## References
    - PyTorch documentation, "torch.optim.Optimizer.zero_grad"
    - PyTorch documentation, "Performance Tuning Guide": disable gradient calculation, `set_to_none`
    """

    code = "TML501"
    name = "zero-grad-keeps-buffers"
    severity = Severity.WARNING
    words = frozenset({"zero_grad", "zero_", "fill_"})

    @on(OpClosed, "zero_grad", "?call")
    def explicit(self, event: OpClosed) -> Iterator[Finding]:
        """`zero_grad(set_to_none=False)`"""
        op = event.op
        if op.name == "?call" and not (op.callee or "").endswith(".zero_grad"):
            return
        given = op.argument(0, "set_to_none")
        if given is None or given.value.const is not False or keeps_on_purpose(event.function):
            return
        fix = None
        if given.name is not None:
            reason = "a parameter without a gradient is then skipped by the step, not updated with a zero gradient"
            fix = Plan("free the gradients", remove_keyword(op.node, "set_to_none").steps, False, reason)
        message = (
            "one gradient a parameter, as large as the model, stays allocated and zero until the next backward: "
            "leave `set_to_none` at its default"
        )
        severity = Severity.HINT if in_test(event.function) else self.severity
        yield self.finding(event, op.node, message, severity=severity, fix=fix)

    @on(OpClosed, "torch.zero_", "torch.fill_")
    def by_hand(self, event: OpClosed) -> Iterator[Finding]:
        """`for p in model.parameters(): p.grad.zero_()`"""
        op = event.op
        if op.name == "torch.fill_" and (not op.arguments or number(op.arguments[0].node) != 0):
            return
        parameter = gradient_of(op) if op.loops else None
        if parameter is None or keeps_on_purpose(event.function):
            return
        message = (
            f"the gradients of all parameters of `{parameter}` stay allocated and zero until the next backward: "
            "set them to `None`"
        )
        yield self.finding(event, op.node, message)
