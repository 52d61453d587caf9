from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, remove_keyword
from torchmemlint.flow.datasets import pins_for_nothing
from torchmemlint.flow.events import OpClosed


class PinnedWithoutTransfer(Rule):
    """A DataLoader copies its batches into page-locked memory, though nothing in the file goes to an accelerator.

    ## What it does
    Reports `DataLoader(..., pin_memory=True)` in a file that names no device and moves nothing.

    ## Why it costs memory
    Pinned memory speeds up transfers to an accelerator. Without one each batch is copied once more, into host memory
    that the
    system cannot page out, and where a GPU is present the pinning thread opens a context on it.

    ## Known limits
    A hint: the batches may go to a device in code that receives them from this file.

    ## Fix safety
    The keyword is removed. Unsafe: transfers out of sight become slower.

    ## References
    - PyTorch documentation, "torch.utils.data": memory pinning
    """

    code = "TML606"
    name = "pinned-without-transfer"
    severity = Severity.HINT
    words = frozenset({"pin_memory"})

    @on(OpClosed, "construct")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a loader."""
        if not pins_for_nothing(event.function, event.op):
            return
        message = (
            "every batch is copied into page-locked memory, though nothing in this file is moved to an accelerator"
        )
        plan = remove_keyword(event.op.node, "pin_memory")
        fix = Plan("do not pin", plan.steps, False, "transfers out of sight become slower")
        yield self.finding(event, event.op.node, message, fix=fix)
