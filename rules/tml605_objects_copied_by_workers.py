from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.flow.datasets import ObjectStore, object_stores, workers
from torchmemlint.flow.events import FunctionClosed
from torchmemlint.flow.values import Fact


class ObjectsCopiedByWorkers(Rule):
    """A data set keeps its samples as Python objects, which every worker process copies page by page.

    ## What it does
    Reports attributes of a data set that hold a list or dict of Python objects, one or more a sample, and are read for
    each item.

    ## Why it costs memory
    Workers share the parent's memory until they write to it, and reading a Python object writes its reference count.
    After
    an epoch each worker owns a private copy of all objects: 94.7 MiB of dirty pages for 100 000 annotations that take
    2.4 MiB as one byte buffer. This is host memory.

    ## Known limits
    A warning needs a DataLoader with `num_workers` above zero in sight and samples that are containers themselves; a
    list of
    names or numbers, or unknown workers, give a hint. Arrays, tensors and Arrow tables are silent.

    ## Fix safety
    No fix is offered: keep the samples in arrays, or serialised in one buffer with a table of offsets.

    ## References
    - PyTorch documentation, "torch.utils.data": multi-process data loading
    - PyTorch issue 13246: DataLoader num_workers > 0 causes CPU memory to be copied
    """

    code = "TML605"
    name = "objects-copied-by-workers"
    severity = Severity.WARNING
    words = frozenset({"self"})
    file_words = frozenset("Dataset".split())
    roles = frozenset({"init", "function"})

    @on(FunctionClosed)
    def check(self, event: FunctionClosed) -> Iterator[Finding]:
        """One finding an attribute."""
        for found in object_stores(event.function):
            read_by = workers(event.function.program, found.owner)
            if read_by is not Fact.NO:
                yield self._found(event, found, read_by)

    def _found(self, event: FunctionClosed, found: ObjectStore, read_by: Fact) -> Finding:
        each = (
            "each worker process of the DataLoader" if read_by is Fact.YES else "each worker process, if there are any,"
        )
        message = (
            f"`{found.path}` holds Python objects for every sample: {each} ends up with a copy of all of them in "
            "host memory; keep them in arrays or in one serialised buffer"
        )
        severity = self.severity if read_by is Fact.YES and found.nested else Severity.HINT
        return self.finding(
            event,
            found.store.node,
            message,
            severity=severity,
            related=(("read for each item here", Place(found.read.unit, found.read.node)),),
        )
