from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.flow.datasets import WholeData, few_rows, whole_data_moves
from torchmemlint.flow.devices import CHOSEN, CUDA, placed_on
from torchmemlint.flow.events import FunctionClosed, OpClosed


class DatasetOnDevice(Rule):
    """A whole data set is moved to the accelerator, though each step reads a slice of it.

    ## What it does
    Reports tensors that are moved to an accelerator in the constructor of a data set or batch iterator whose other
    methods
    read them piece by piece, and tensors that are moved as a whole and then cut into batches in a loop; and, as a
    warning, batches of which only the first rows are read behind the move.

    ## Why it costs memory
    All samples lie in device memory for the whole run: a token stream takes 8 bytes a token, 826 MB for WikiText-103,
    of
    which a batch needs a few thousand.

    ## Known limits
    How large the data is cannot be seen, and for a small set this is the fastest way: a hint.

    ## Fix safety
    No fix is offered: the data stays on the host and each batch is moved where it is read.

    ## References
    - PyTorch documentation, "torch.utils.data": memory pinning
    """

    code = "TML604"
    name = "dataset-on-device"
    severity = Severity.HINT
    words = frozenset({"cuda", "to"})
    roles = frozenset({"module", "init", "function"})

    @on(FunctionClosed)
    def check(self, event: FunctionClosed) -> Iterator[Finding]:
        """One finding a move."""
        for move in whole_data_moves(event.function):
            yield self._found(event, move)

    @on(OpClosed, "torch.to", "torch.cuda")
    def cut(self, event: OpClosed) -> Iterator[Finding]:
        """`x = x.cuda(); x = x[:1]`"""
        op = event.op
        readers = [u for u in op.consumers if u.uses or u.name != "literal.tuple"]  # `x, y = x.cuda(), y.cuda()`
        if placed_on(op) not in (CUDA, CHOSEN) or not readers or not all(map(few_rows, readers)):
            return
        shown = event.function.unit.text(op.receiver_node) if op.receiver_node is not None else "the tensor"
        message = (
            f"all of `{shown}` goes to the accelerator and a few of its rows are read, as a view that keeps the rest "
            "there: cut first, then move"
        )
        sure = any(o.name in ("batch", "iter") for o in (op.receiver.defs if op.receiver is not None else ()))
        related = (("cut here", Place(event.function.unit, readers[0].node)),)
        severity = Severity.WARNING if sure and op.loops else Severity.HINT
        yield self.finding(event, op.node, message, severity=severity, related=related)

    def _found(self, event: FunctionClosed, move: WholeData) -> Finding:
        shown = move.name or "the data"
        message = (
            f"all of `{shown}` lies on the accelerator for the whole run, though each step reads a slice of it: "
            "keep it on the host and move the slices"
        )
        return self.finding(
            event, move.op.node, message, related=(("read by slices here", Place(move.read.unit, move.read.node)),)
        )
