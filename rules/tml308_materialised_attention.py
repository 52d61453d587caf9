from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Place, Rule, Severity, on
from torchmemlint.flow.attention import attention, is_softmax
from torchmemlint.flow.events import OpClosed

from ._fused_attention import fused


class MaterialisedAttention(Rule):
    """Attention is written out of softmax and products, so that every score is stored.

    ## What it does
    Reports softmax(q kᵀ · s) v, with scaling, masks, casts and dropout between, as matrix products or einsums, where
    nothing else reads the scores or the weights.

    ## Why it costs memory
    Scores, masked scores and weights are batch × heads × length² each, and autograd keeps the last of them in every
    layer. `scaled_dot_product_attention` keeps one number a row: measured 10.9 times less at the peak in training, 32
    times in inference.

    ## Known limits
    Weights that are returned, stored, edited or read: silent, and so is a function that also calls the fused operator.
    A learned term of the scores' shape is a hint: it fits as additive mask, which is stored itself. A single query has
    small scores: silent.

    ## Fix safety
    A plain attention, without mask, bias and dropout, becomes one call with the same scale. Unsafe: results are equal
    up to rounding. For the other forms there is no fix: a mask has to be put in the operator's form by hand.

    ## References
    - PyTorch documentation, `torch.nn.functional.scaled_dot_product_attention`
    """

    code = "TML308"
    name = "materialised-attention"
    severity = Severity.WARNING
    words = frozenset({"softmax", "Softmax"})
    modules = frozenset({"Softmax"})
    needs = (frozenset("matmul bmm einsum baddbmm transpose permute t T mT swapaxes".split()),)
    roles = frozenset({"module", "forward", "function"})

    @on(OpClosed, "torch.softmax", "module")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding an attention, at the product that makes the scores."""
        if not is_softmax(event.op):
            return
        found = attention(event.function, event.op)
        if found is None:
            return
        what = "scores and weights of length² for each head are stored; `scaled_dot_product_attention` stores neither"
        related = (("the weights are made here", Place(event.function.unit, found.softmax.node)),)
        severity = Severity.HINT if found.biased else Severity.WARNING
        yield self.finding(
            event, found.product.node, what, severity=severity, related=related, fix=fused(event.function, found)
        )
