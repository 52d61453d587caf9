from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.fixes import Plan, delete_statement
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op
from torchmemlint.flow.liveness import Weight, held_across

from ._retire import retire

STEP = ("module", "backward", "step")


class EmptyCacheMisused(Rule):
    """The allocator's cache is emptied in every step, or while the large tensors are still bound.

    ## What it does
    Reports `torch.cuda.empty_cache()` in the loop body that runs the forward or the backward, and before a later phase
    while names that nothing reads again still hold a module, a collected data set or outputs.

    ## Why it costs memory
    The call gives cached blocks that no tensor uses back to the driver. It frees no tensor: what a name still holds
    stays allocated. In a loop the same blocks are asked for again right away: the peak stays the same and a
    training step took 1.29 times as long.

    ## Known limits
    A call under a condition is a hint: it may run once in a thousand steps.

    ## Fix safety
    Dead names are deleted before the call: safe in a function. Removing a call from a loop is unsafe: another process
    on the same card may count on the memory.

    ## References
    - PyTorch documentation, "CUDA semantics": memory management
    """

    code = "TML404"
    name = "empty-cache-misused"
    severity = Severity.WARNING
    words = frozenset({"empty_cache"})

    @on(OpClosed, "diagnostic.release")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a call."""
        op = event.op
        work = self._same_step(event) if op.loops and not op.handlers else None
        if work is not None:
            yield self._each_step(event, work)
        elif not op.loops:
            yield from self._still_bound(event)

    @staticmethod
    def _same_step(event: OpClosed) -> Op | None:
        """The forward or backward that runs in the same loop body, once an iteration; none in a loop over models."""
        op = event.op
        work = [o for o in event.function.named(*STEP) if o.loops == op.loops and not o.depth]
        makers = [m for o in work if o.name == "module" and o.receiver is not None for m in o.receiver.defs]
        return work[0] if work and all(m.loops != op.loops for m in makers) else None

    def _each_step(self, event: OpClosed, work: Op) -> Finding:
        op = event.op
        message = (
            f"`{event.function.unit.text(op.node)}` in every iteration frees nothing that the next one does not "
            "allocate again; the peak stays the same and each step takes longer"
        )
        conditional = len(op.branches) > len(work.branches)
        fix = delete_statement(op.statement) if isinstance(op.statement, cst.Expr) else None
        return self.finding(
            event,
            op.node,
            message,
            severity=Severity.HINT if conditional else self.severity,
            related=(("the step's work is here", Place(work.unit, work.node)),),
            fix=fix.unsafe("another process may count on the memory") if fix is not None else None,
        )

    def _still_bound(self, event: OpClosed) -> Iterator[Finding]:
        op, flow = event.op, event.function
        held = [h for h in held_across(flow, op) if h.weight >= Weight.ACTIVATION]
        later = [o for o in flow.named(*STEP, "call") if o.order > op.order]
        if not held or not later:
            return
        heavy = [h for h in held if h.weight >= Weight.MODEL]
        held = heavy or held  # beside these the rest is small, and less sure
        names = list(dict.fromkeys(f"`{h.path}`" for h in held))
        message = (
            f"the cache is emptied while {', '.join(names)} still hold{'' if len(names) > 1 else 's'} memory that "
            "nothing reads again: only unused blocks are given back, these are not"
        )
        fix: Plan | None = retire(flow, [h.bind for h in held], op)
        related = tuple(("bound here", Place(h.bind.unit, h.bind.node)) for h in held[:4])
        severity = self.severity if heavy else Severity.HINT
        yield self.finding(event, op.node, message, severity=severity, related=related, fix=fix)
