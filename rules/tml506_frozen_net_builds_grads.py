from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.fixes import Plan, call_method
from torchmemlint.flow.events import FunctionClosed
from torchmemlint.flow.testcases import asserts
from torchmemlint.flow.untrained import Untrained, handed_down, untrained, walked_elsewhere
from torchmemlint.index.marks import RUNS_MODULES
from torchmemlint.index.model import FileIndex, FunctionInfo


class FrozenNetBuildsGrads(Rule):
    """A network that nobody trains is only put into eval mode, so every backward fills gradients for its parameters.

    ## What it does
    Reports modules in eval mode whose output reaches a backward, when no optimizer in sight holds their parameters and
    these still require grad: teachers, feature extractors, perceptual losses. A module that a function makes and hands
    to nobody, or fills with another one's weights, need not be in eval mode, nor a deep copy that is only updated as a
    moving average.

    ## Why it costs memory
    `eval()` changes dropout and batch norm, not `requires_grad`. Each backward then allocates one gradient a parameter,
    which no `zero_grad` frees, and the forward saves the inputs of all layers to compute them. Measured for a backbone:
    600 MiB in eval mode, 128 MiB with `requires_grad_(False)`.

    ## Known limits
    All optimizers of the function, its class or its callers must be in sight. A network that another function runs
    is followed from the function that puts it into eval mode, where that makes the optimizer too. Networks of tests
    are hints.

    ## Fix safety
    `.requires_grad_(False)` is put behind `.eval()`, or behind the call that makes the module. The loss and the
    gradients of all other tensors stay the same. Unsafe: code out of sight may read the network's gradients or train it
    later.

    ## References
    - PyTorch documentation, "Autograd mechanics": evaluation mode
    """

    code = "TML506"
    name = "frozen-net-builds-grads"
    severity = Severity.WARNING
    words = frozenset({"backward", "eval", "load_state_dict"})

    @classmethod
    def matters(cls, info: FunctionInfo, file: FileIndex, words: frozenset[str], hints: bool = True) -> bool:
        """Also methods that run a network which another one of the file has put into eval mode."""
        elsewhere = info.owner is not None and RUNS_MODULES in words and "eval" in file.words
        return elsewhere or super().matters(info, file, words, hints)

    @on(FunctionClosed)
    def check(self, event: FunctionClosed) -> Iterator[Finding]:
        """One finding a network."""
        seen: set[str] = set()
        for found in chain(*(search(event.function) for search in (untrained, handed_down, walked_elsewhere))):
            if found.path not in seen:
                seen.add(found.path)
                yield self._found(event, found)

    def _found(self, event: FunctionClosed, found: Untrained) -> Finding:
        state = "is in no optimizer" if found.evaluated.name in ("construct", "copy") else "is in eval mode"
        message = (
            f"`{found.path}` {state} but its parameters still require grad: a backward fills a gradient for "
            "each of them, which no optimizer uses; set `requires_grad_(False)`"
        )
        related = (
            ("its graph is recorded here", Place(found.forward.unit, found.forward.node)),
            (
                "a backward walks what this gives" if found.backward.name == "call" else "and walked here",
                Place(found.backward.unit, found.backward.node),
            ),
        )
        plan = call_method(found.evaluated.node, "requires_grad_", "False")
        fix = Plan(
            "freeze the parameters", plan.steps, False, "code out of sight may read its gradients or train it later"
        )
        severity = Severity.HINT if asserts(event.function) else self.severity
        if found.evaluated.unit.source.path != event.function.unit.source.path:
            return self.finding(event, found.forward.node, message, severity=severity, related=related)
        if found.forward is found.backward:  # the one method evaluates, another runs, a third one walks
            made = (("it is put into eval mode here", Place(found.evaluated.unit, found.evaluated.node)),)
            return self.finding(event, found.forward.node, message, severity=severity, related=made, fix=fix)
        place = Place(found.evaluated.unit, found.evaluated.node)
        return Finding(self.code, self.name, severity, message, place, related, fix)
