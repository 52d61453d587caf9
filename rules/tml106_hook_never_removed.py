from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.flow import hooks
from torchmemlint.flow.events import FunctionClosed, OpClosed


class HookNeverRemoved(Rule):
    """A hook is registered again with each iteration or call, and its handle is dropped.

    ## What it does
    Reports `register_…_hook` on an object that outlives the loop or the call, in a loop, in a function that is called
    in a loop, or in a forward, when nothing keeps or uses the handle; and tensor hooks whose function references that
    very tensor. A hook that a module's constructor puts on a part of it, and that references the module, is a hint.

    ## Why it costs memory
    The module holds every hook, and each hook holds what its function references: lists of outputs, batches, closures.
    All of them run in each later forward (measured: one more tensor each step). A tensor whose own hook references it
    is never freed, not even by Python's cyclic collector, since the cycle passes through C++.

    ## Known limits
    Handles that are kept are taken as removed some time, unless they are kept on an object of which a loop makes one
    after the other and which nothing asks to remove them. Registrations behind a condition are hints.

    ## Fix safety
    No fix is offered: where the handle has to be removed depends on the program.

    ## References
    - PyTorch documentation, `torch.nn.Module.register_forward_hook`: the returned handle removes the hook
    """

    code = "TML106"
    name = "hook-never-removed"
    severity = Severity.ERROR
    words = frozenset(hooks.REGISTERS)

    @on(OpClosed, *hooks.OPERATIONS)
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a registration."""
        op = event.op
        dropped = hooks.dropped(op)
        lost = hooks.lasting(event.function, op) and (dropped or hooks.left_behind(event.function, op))
        again = hooks.repeated(event.function, op) if lost else None
        if again is None:
            return
        when = "in each iteration" if again == "loop" else "in each call"
        shown = event.function.unit.text(op.receiver_node) if op.receiver_node is not None else "the module"
        message = (
            f"one more hook on `{shown}` {when}, and none is ever removed: all of them run in every later "
            "forward and hold what they reference"
        )
        severity = Severity.HINT if op.branches else Severity.ERROR if dropped else Severity.WARNING
        yield self.finding(event, op.node, message, severity=severity)

    @on(FunctionClosed)
    def cycles(self, event: FunctionClosed) -> Iterator[Finding]:
        """Hooks that reference what they are registered on."""
        for registration in hooks.registrations(event.function):
            op = registration.op
            shown = event.function.unit.text(op.receiver_node) if op.receiver_node is not None else "the tensor"
            if hooks.own_tensor(registration):
                message = f"the hook of `{shown}` references `{shown}` itself: the tensor and its graph are never freed"
                yield self.finding(event, op.node, message)
            elif hooks.cycle(registration):
                message = (
                    "the hook references the module that it is a part of: a dropped model waits for Python's "
                    "cyclic collector, which counts objects, not bytes"
                )
                yield self.finding(event, op.node, message, severity=Severity.HINT)
