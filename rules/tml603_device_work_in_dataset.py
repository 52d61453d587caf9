from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.flow.datasets import collated_by, in_workers, lambda_collating
from torchmemlint.flow.devices import CHOSEN, CUDA, placed_on
from torchmemlint.flow.events import FunctionClosed
from torchmemlint.flow.values import Fact


class DeviceWorkInDataset(Rule):
    """Code that runs in the worker processes of a DataLoader puts tensors on the accelerator.

    ## What it does
    Reports moves to an accelerator, and tensors made there, in a data set's `__getitem__` or `__iter__`, in a method
    that
    these call, and in a `collate_fn`.

    ## Why it costs memory
    Each worker process that touches CUDA opens a context of its own, some hundred megabytes of device memory, and
    what it
    loads ahead lies on the device too: workers × `prefetch_factor` batches. With `fork`, the default on Linux, CUDA
    refuses to start in the workers at all.

    ## Known limits
    A warning needs a DataLoader with `num_workers` above zero in sight; elsewhere the rule hints.

    ## Fix safety
    No fix is offered: the move belongs into the training loop, next to the batch's first use.

    ## References
    - PyTorch documentation, "torch.utils.data": multi-process data loading
    - PyTorch documentation, "Multiprocessing best practices": CUDA in multiprocessing
    """

    code = "TML603"
    name = "device-work-in-dataset"
    severity = Severity.WARNING
    words = frozenset({"cuda", "to", "device"})
    file_words = frozenset("Dataset IterableDataset DataLoader collate_fn collate".split())

    @on(FunctionClosed)
    def check(self, event: FunctionClosed) -> Iterator[Finding]:
        """One finding an operation."""
        flow = event.function
        places = [op for op in flow.ops if placed_on(op) in (CUDA, CHOSEN)]
        if not places:
            return
        everywhere = in_workers(flow) if flow.info.name else None
        if everywhere is None and flow.info.name:
            everywhere = collated_by(flow.program, flow.info)
        for op in places:
            workers = lambda_collating(flow, op) if everywhere is None else everywhere
            if workers is None:
                continue
            sure = workers is Fact.YES and placed_on(op) == CUDA
            text = "is" if workers is Fact.YES else "may be"
            message = (
                f"this {text} run by the worker processes of a DataLoader: each opens a context of its own on the "
                "accelerator and keeps its batches there; move the batch in the training loop"
            )
            yield self.finding(event, op.node, message, severity=self.severity if sure else Severity.HINT)
