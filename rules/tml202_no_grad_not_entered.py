from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, enter_bare_context, replace
from torchmemlint.flow.events import GradContextMisused


class NoGradNotEntered(Rule):
    """A grad-mode context that has no effect: not entered, not called, around a coroutine, generator or thread pool.

    ## What it does
    Reports `torch.no_grad()` as a bare statement, `with torch.no_grad:` without the call, the decorator on an
    `async def`, whose body runs after the context was left, a context around forwards that other threads run (grad
    mode belongs to a thread, and a new one starts with grad on), or around the making of a generator that is read
    outside, and `volatile=True` before a forward.

    ## Why it costs memory
    Grad mode stays on: the forward passes that follow save all their activations.

    ## Known limits
    Contexts that are handed to code out of sight are taken as entered.

    ## Fix safety
    A bare statement becomes a `with` block around the rest of its block; unsafe, since that code then runs without
    grad, as was meant.

    ## References
    - PyTorch documentation, `torch.no_grad`
    """

    code = "TML202"
    name = "no-grad-not-entered"
    severity = Severity.WARNING
    words = frozenset("no_grad inference_mode enable_grad volatile set_grad_enabled".split())

    MESSAGES: ClassVar[dict[str, str]] = {
        "bare statement": "`{text}` as a statement makes a context and drops it: grad mode stays on",
        "never entered": "`{text}` is bound to a name and never entered: grad mode stays on",
        "not called": "`{text}` is not called, so it is no context: write `{text}()`",
        "async function": "`{text}` is left before the coroutine's body runs: grad mode stays on in it",
        "switched back on": "`{text}` also ends a caller's `no_grad`: grad mode stays on after this function returns",
        "other thread": "grad mode belongs to a thread: in the one that `{text}` hands its forward to it is on",
        "read later": "this generator is read after `no_grad` is left: its forwards run then, with grad on",
        "volatile": "`volatile=True` has had no effect since PyTorch 0.4: grad mode stays on",
    }

    @on(GradContextMisused)
    def check(self, event: GradContextMisused) -> Iterator[Finding]:
        """One finding a context."""
        text = event.function.unit.text(event.op.node).strip()
        message = self.MESSAGES[event.how].format(text=text.removeprefix("@"))
        yield self.finding(event, event.op.node, message, fix=self._fix(event, text))

    @staticmethod
    def _fix(event: GradContextMisused, text: str) -> Plan | None:
        if event.how == "bare statement" and isinstance(event.op.statement, cst.CSTNode):
            plan = enter_bare_context(event.op.statement)
            return Plan("enter the context", plan.steps, False, "the rest of the block then runs without grad")
        if event.how == "not called":
            plan = replace(event.op.node, f"{text}()")
            return Plan("call it", plan.steps, False, "the block then runs without grad")
        return None
