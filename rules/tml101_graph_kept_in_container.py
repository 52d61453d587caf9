from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import RUNS, Finding, Rule, Severity, on
from torchmemlint.flow.events import HolderClosed
from torchmemlint.flow.testcases import asserts
from torchmemlint.index.marks import COLLECTS, KEEPERS

from ._kept import ATTACHING, verdicts


class GraphKeptInContainer(Rule):
    """A value that carries an autograd graph goes into a container that outlives the iteration.

    ## What it does
    Reports values attached to the autograd graph that are put into a list, dict, deque, set or buffer object which
    outlives the iteration, or written into a slot of a tensor made before it, when nothing that is read from the
    container ever reaches a backward call.

    ## Why it costs memory
    The graph of a value that is never backpropagated holds every activation that its forward pass saved; a container
    of such values holds all of them, one more set each iteration. A loss whose backward has run keeps its own element
    and the nodes of its graph in host memory only; an output keeps its own bytes, attached or not.

    ## Known limits
    Containers that code out of sight may consume are hints. Values that only a name suggests to be losses are not
    reported.

    ## Fix safety
    `.detach()` is put behind the stored value. The fix is safe where all readers of the container are known and none
    of them reaches a backward call; otherwise it is unsafe.

    ## References
    - PyTorch documentation, "Frequently Asked Questions": my model reports "cuda runtime error(2): out of memory"
    """

    code = "TML101"
    name = "graph-kept-in-container"
    severity = Severity.ERROR
    words = frozenset({COLLECTS, KEEPERS})
    needs = (ATTACHING,)
    roles = RUNS

    @on(HolderClosed)
    def check(self, event: HolderClosed) -> Iterator[Finding]:
        """One finding a store."""
        for verdict in verdicts(event):
            how = verdict.store.how
            if not self._is_ours(event, how):
                continue
            message = f"`{event.name}` keeps {verdict.held} of {verdict.which}: {verdict.bytes}"
            severity = Severity.HINT if asserts(event.function) else verdict.severity
            yield self.finding(
                event, verdict.node, message, severity=severity, related=verdict.related, fix=verdict.fix
            )

    @staticmethod
    def _is_ours(event: HolderClosed, how: str) -> bool:
        if event.kind == "container":
            return how != "accumulate"
        ours = event.by_callee or not event.in_module
        return event.kind == "attribute" and how not in ("assign", "accumulate") and ours
