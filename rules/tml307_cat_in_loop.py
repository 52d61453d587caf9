from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.growth import Growth, growth
from torchmemlint.index.marks import LOOPS


class CatInLoop(Rule):
    """A tensor grows by `torch.cat` each time round: everything is copied again, and two generations are alive.

    ## What it does
    Reports `out = torch.cat([out, x])` in a loop when the loop only collects; as a hint, when each iteration needs the
    joined tensor (dense blocks, token ids), when a cache of keys and values grows by one call after another, and when
    the last concatenation is read by nobody.

    ## Why it costs memory
    The old and the new tensor are alive together, and n steps copy n² / 2 elements. The sizes differ each time, so the
    caching allocator cannot reuse its blocks: measured, 4898 MiB reserved against 850 for a list and one `cat` at the
    end, at the same allocated peak; writing into a preallocated tensor halves the peak as well.

    ## Known limits
    Loops that run a few times and indices are small, and tensors that are not surely results of a forward pass may be
    on the host: hints, and so are windows that are cut to a length. Where the parts
    have different sizes, preallocation needs the total.

    ## Fix safety
    No fix: it moves statements out of the loop.

    ## References
    - PyTorch documentation, "CUDA semantics", memory management
    """

    code = "TML307"
    name = "cat-in-loop"
    severity = Severity.WARNING
    words = frozenset({"cat", "concat", "concatenate", "hstack", "vstack", "dstack"})
    loud = (frozenset({LOOPS}),)
    roles = frozenset({"module", "forward", "function"})

    @on(OpClosed, "torch.cat", "torch.hstack", "torch.vstack", "torch.dstack")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a concatenation."""
        found = growth(event.function, event.op)
        if found is None:
            return
        severity, what = _verdict(found)
        yield self.finding(event, event.op.node, what, severity=severity)


def _verdict(found: Growth) -> tuple[Severity, str]:
    if found.window:
        return Severity.HINT, "each round copies the whole window: a buffer of its length can be written in turn"
    if found.how == "call":
        return (
            Severity.HINT,
            "each call joins the whole cache anew while the caller holds the old one: two of them at the peak",
        )
    if found.how == "attribute":
        return (
            Severity.HINT,
            "each call copies all that was collected so far: the old and the new tensor are alive together",
        )
    if found.thrown and found.used:
        return Severity.HINT, "the concatenation of the last iteration is read by nobody"
    if found.used or found.small or found.bounded:
        return Severity.HINT, "each iteration copies all earlier ones: a tensor of the final size can be filled instead"
    severity = Severity.WARNING if found.computed else Severity.HINT
    return (
        severity,
        "each iteration copies all earlier ones and holds both: collect in a list and join once after the loop",
    )
