from __future__ import annotations

from collections.abc import Iterator

from torchmemlint import knowledge
from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.flow.consumers import reading
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op
from torchmemlint.flow.onehot import CASTS, VIEWS, makes_one_hot, scattered
from torchmemlint.flow.patterns import bare, is_module, sign
from torchmemlint.flow.scalars import scalar_like

LOSSES = ("CrossEntropyLoss", "KLDivLoss", "BCELoss", "BCEWithLogitsLoss", "MSELoss", "SmoothL1Loss")
SUMS = frozenset({"sum", "mean"})


class DenseTarget(Rule):
    """Targets are written out as one-hot or smoothed rows where class indices say the same.

    ## What it does
    Reports, as a hint, one-hot rows (`F.one_hot`, `torch.eye(n)[i]`, `scatter_` of numbers) that are only multiplied
    into predictions and summed, or given to a loss.

    ## Why it costs memory
    The target is as large as the logits, its product with them once more. Indices take eight bytes a row:
    `cross_entropy` takes them (with `label_smoothing=`), `gather` picks the target's column, `index_add` sums by class.

    ## Known limits
    Hints only: in a training step with `cross_entropy` the peak was measured equal, since its backward is larger. Soft
    targets from data or from a teacher are no one-hot rows.

    ## Fix safety
    No fix: the loss has to be written in indices.

    ## References
    - PyTorch documentation, `torch.nn.functional.cross_entropy`
    """

    code = "TML317"
    name = "dense-target"
    severity = Severity.HINT
    words = frozenset({"one_hot", "eye", "scatter_", "scatter"})
    roles = frozenset({"module", "forward", "function"})

    @on(OpClosed, "torch.one_hot", "torch.index", "torch.index_select", "torch.scatter_", "torch.scatter")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a target."""
        op = event.op
        if not makes_one_hot(op) and not _smoothed(event, op):
            return
        readers = _readers(event, op)
        if readers and all(map(_as_target, readers)):
            what = (
                "a number for each class is written where one index says the same: the target is as "
                "large as the predictions"
            )
            yield self.finding(event, op.node, what)


def _smoothed(event: OpClosed, op: Op) -> bool:
    """`full_like(logits, a).scatter_(1, y, b)` with two numbers."""
    found = scattered(op)
    return found is not None and scalar_like(event.function, found[1].value, found[1].node)


def _readers(event: OpClosed, op: Op) -> list[Op]:
    """Who reads the rows, through views and casts; empty where they go out of sight."""
    found = reading(event.function, op)
    readers: list[Op] = []
    for user in found.ops:
        if bare(user) in CASTS | VIEWS or sign(user) == "neg":
            onward = _readers(event, user)
            if not onward:
                return []
            readers += onward
        else:
            readers.append(user)
    return [] if found.escapes else readers


def _as_target(user: Op) -> bool:
    loss = is_module(user, *LOSSES) or user.name.startswith("torch.") and knowledge.functional_loss(user.name)
    return loss or sign(user) in ("*", "+", "-") or bare(user) in SUMS
