from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.fixes import Plan, delete_statement
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op
from torchmemlint.flow.liveness import Weight, held_across
from torchmemlint.flow.releasing import STEP, each_step, now_and_then, same_step

from ._retire import retire


class EmptyCacheMisused(Rule):
    """The allocator's cache is emptied in every step, or while the large tensors are still bound.

    ## What it does
    Reports `torch.cuda.empty_cache()`, or a call of a helper for it, in the loop body that runs the forward or the
    backward; and before a later phase, while names that nothing reads again still hold a module, a collected data set
    or outputs.

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
        work = same_step(event.function, op)
        if work is not None:
            yield self._each_step(event, work)
        elif not op.loops:
            yield from self._still_bound(event)
            yield from self._by_callers(event)

    def _by_callers(self, event: OpClosed) -> Iterator[Finding]:
        """A helper that empties the cache and computes nothing is called in every step."""
        op, flow = event.op, event.function
        if op.handlers or flow.named(*STEP, "call") or flow.named("diagnostic.release")[0] is not op:
            return
        for site, work, surely in each_step(flow, op):
            related = (
                ("the cache is emptied here", Place(op.unit, op.node)),
                ("the step's work is here", Place(work.unit, work.node)),
            )
            here = site.op.unit.source.path == op.unit.source.path
            place = Place(site.op.unit, site.op.node) if here else Place(op.unit, op.node)
            severity = self.severity if surely else Severity.HINT
            yield Finding(self.code, self.name, severity, self._message(site.op), place, related)
            return

    @staticmethod
    def _message(op: Op) -> str:
        return (
            f"`{op.unit.text(op.node)}` in every iteration frees nothing that the next one does not "
            "allocate again; the peak stays the same and each step takes longer"
        )

    def _each_step(self, event: OpClosed, work: Op) -> Finding:
        op = event.op
        conditional = now_and_then(event.function, op, work)
        fix = delete_statement(op.statement) if isinstance(op.statement, cst.Expr) else None
        return self.finding(
            event,
            op.node,
            self._message(op),
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
