from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, set_keyword
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op

POSITION = 4  # of need_weights, after query, key, value and key_padding_mask


class AttentionWeightsUnread(Rule):
    """`nn.MultiheadAttention` returns its weights to a caller that doesn't read them.

    ## What it does
    Reports calls of `nn.MultiheadAttention` with `need_weights` left on whose second result is not used.

    ## Why it costs memory
    With weights wanted, the fused kernel is off: scores, their softmax and dropout are batch × heads × length² each and
    saved, and an average over the heads is made besides. Measured, 5.6 times the peak.

    ## Known limits
    A result that is handed on as a pair may be read elsewhere: silent.

    ## Fix safety
    Unsafe: the second result becomes None, and the first is equal up to rounding.

    ## References
    - PyTorch documentation, `torch.nn.MultiheadAttention`
    """

    code = "TML315"
    name = "attention-weights-unread"
    severity = Severity.WARNING
    words = frozenset({"self", "MultiheadAttention"})
    file_words = frozenset({"MultiheadAttention"})
    roles = frozenset({"module", "forward", "function"})

    @on(OpClosed, "module")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a call."""
        op = event.op
        if not (op.callee or "").startswith("torch.nn.") or not (op.callee or "").endswith(".MultiheadAttention"):
            return
        wanted = op.argument(POSITION, "need_weights")
        if any(a.name in ("*", "**") for a in op.arguments) or wanted is not None and wanted.value.const is not True:
            return
        parts = {user.name: user for user in op.uses if user.node is op.node}
        weights, output = parts.get("module.weights"), parts.get("module.output")
        if weights is None or output is None or weights.consumers or _read_as_pair(op, weights, output):
            return
        what = (
            "the weights are unread: `need_weights=False` lets the fused kernel run, which stores no length² per head"
        )
        plan = set_keyword(op.node, "need_weights", "False") if wanted is None or wanted.name is not None else None
        reason = "the second result becomes None, and the first rounds differently"
        fix = Plan("turn the weights off", plan.steps, False, reason) if plan is not None else None
        yield self.finding(event, op.node, what, fix=fix)


def _read_as_pair(op: Op, weights: Op, output: Op) -> bool:
    """Is the pair itself used, beyond taking it apart?"""
    return any(user not in (weights, output) and user.name not in ("bind", "del") for user in op.uses)
