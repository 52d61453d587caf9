from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.fixes import Plan, call_method
from torchmemlint.flow import hooks
from torchmemlint.flow.events import FunctionClosed
from torchmemlint.flow.hooked import KeptByHook, kept, told
from torchmemlint.flow.values import Fact, Kind


class HookKeepsOutput(Rule):
    """A hook stores the output, input or gradient that it sees in something that outlives the step.

    ## What it does
    Reports hooks that append activations or gradients to a list, and hooks that store an output with its autograd
    graph, when no loss is computed from what is stored.

    ## Why it costs memory
    A list in a hook grows by one whole activation for each layer and forward, detached or not (measured: one more
    tensor each step either way). A single attached output keeps, where no backward follows, the graph of its forward
    beside that of the next one.

    ## Known limits
    Features that feed a loss, or that code out of sight reads, are hints, and so are lists that something empties.
    Hooks that compute numbers or move their tensors to the host are not reported.

    ## Fix safety
    `.detach()` is put behind a single stored output. Unsafe: an output that is a tuple has no such method. A list
    needs another remedy: reduce what is stored to numbers, or move it to the host.

    ## References
    - PyTorch documentation, `torch.nn.Module.register_forward_hook`
    """

    code = "TML105"
    name = "hook-keeps-output"
    severity = Severity.ERROR
    words = frozenset(
        "self def lambda global append extend insert add update setdefault put module output out o".split()
    )
    file_words = frozenset(hooks.REGISTERS)

    @on(FunctionClosed)
    def check(self, event: FunctionClosed) -> Iterator[Finding]:
        """One finding a store."""
        for found in map(told, kept(event.function)):
            severity = self._severity(found)
            if severity is None:
                continue
            registration = found.registration
            spans = (("the hook is registered here", Place(registration.op.unit, registration.op.node)),)
            node, message, fix = found.store.op.node, self._message(found), self._fix(found)
            yield self.finding(event, node, message, severity=severity, related=spans, fix=fix)

    @staticmethod
    def _severity(found: KeptByHook) -> Severity | None:
        if not found.whole and not (found.attached and found.grows):
            return None
        if found.needed:
            return None if found.emptied else Severity.HINT
        if not found.grows and not found.attached:
            return None
        if found.grad is Fact.NO and found.local:
            return None
        if found.unseen or found.grad is Fact.MAYBE:
            return None if found.emptied and not found.by_backward else Severity.HINT
        if found.grows:
            loud = Severity.ERROR if found.attached else Severity.WARNING
            return (Severity.WARNING if found.attached else Severity.HINT) if found.emptied else loud
        return Severity.HINT if found.emptied else Severity.WARNING

    @staticmethod
    def _message(found: KeptByHook) -> str:
        what = "gradient" if found.gradient else "activation"
        graph = " with its graph" if found.attached else ""
        until = "until it is emptied" if found.emptied else "and nothing empties it"
        until = "and only a backward takes it out again" if found.by_backward else until
        if found.needed:
            return f"`{found.name}` holds the {what}s{graph} of the last forward beside those of the next one"
        if found.grows and found.whole:
            return f"`{found.name}` grows by one whole {what}{graph} at each call of the hook, {until}"
        if found.grows:
            return f"`{found.name}` keeps the graph of each forward that the hook sees, {until}"
        return f"`{found.name}` keeps the {what} of the last forward{graph} until the next one replaces it"

    @staticmethod
    def _fix(found: KeptByHook) -> Plan | None:
        node = found.store.value_node
        if node is None or found.store.value.kind is not Kind.TENSOR:
            return None
        if found.grows or found.needed or not found.attached:
            return None
        return call_method(node, "detach").titled("detach the output").unsafe("a tuple of outputs has no `detach`")
