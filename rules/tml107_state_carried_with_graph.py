from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.fixes import Plan, call_method
from torchmemlint.flow.cycles import Course
from torchmemlint.flow.events import FunctionClosed
from torchmemlint.flow.recurrence import Carried, looped, rebuilt, stored
from torchmemlint.flow.values import Kind
from torchmemlint.index.marks import ATTRIBUTE, LOOPS


class StateCarriedWithGraph(Rule):
    """A recurrent state enters the next iteration or call with the graph of all earlier ones.

    ## What it does
    Reports hidden states, memories and previous frames that go through a module and come back into it attached: on an
    attribute from call to call when no backward ever walks them, and in a loop whose backward retains the graph or
    never reaches the state. A loop without any backward is a hint: grad should be off there altogether.
    Reports too the weights of a functional training loop that starts from live parameters.

    ## Why it costs memory
    Each state's graph references the state before it: the activations of all iterations since the start stay
    allocated (measured: one more set of activations each step).

    ## Known limits
    States that code out of sight may backpropagate are hints. Where a plain backward walks the state in each
    iteration, PyTorch itself raises an error, and the rule is silent.

    ## Fix safety
    Where the stored value is known to be a tensor, `.detach()` is put behind it; safe where every reader is in sight.

    ## References
    - PyTorch documentation, "Frequently Asked Questions": don't compute gradients through the whole sequence
    - PyTorch examples, word_language_model: `repackage_hidden`
    """

    code = "TML107"
    name = "state-carried-with-graph"
    severity = Severity.ERROR
    words = frozenset({ATTRIBUTE, "backward", "parameters", "named_parameters"})
    needs = (frozenset({ATTRIBUTE, LOOPS}),)
    roles = frozenset({"module", "forward", "function"})

    @on(FunctionClosed)
    def check(self, event: FunctionClosed) -> Iterator[Finding]:
        """One finding a state."""
        for state in stored(event.function):
            if state.retained is not None:
                yield self._looped(event, state)
            elif state.course is Course.MODULE:
                message = (
                    f"`{state.name}` is computed from its former value with the graph attached: each call keeps "
                    "the activations of all calls before it"
                )
                severity = Severity.ERROR if state.sure else Severity.HINT
                yield self.finding(event, state.op.node, message, severity=severity, fix=self._fix(state))
        for state in looped(event.function):
            yield self._looped(event, state)
        for state in rebuilt(event.function):
            message = (
                f"`{state.name}` starts from live parameters: each iteration's weights keep the graphs of all "
                "iterations before, and no backward walks them"
            )
            severity = Severity.ERROR if state.sure else Severity.HINT
            yield self.finding(event, state.op.node, message, severity=severity)

    def _looped(self, event: FunctionClosed, state: Carried) -> Finding:
        if state.retained is not None:
            message = (
                f"`{state.name}` enters the next iteration with its graph, which the retained backward walks "
                "again: the activations of all iterations stay"
            )
            spans = (("the graph is retained here", Place(state.retained.unit, state.retained.node)),)
            severity = Severity.WARNING if state.sure else Severity.HINT
            return self.finding(event, state.op.node, message, severity=severity, related=spans)
        message = (
            f"`{state.name}` enters the next iteration with its graph, which no backward walks: the activations "
            "of all iterations stay"
        )
        return self.finding(event, state.op.node, message, severity=Severity.ERROR if state.sure else Severity.HINT)

    @staticmethod
    def _fix(state: Carried) -> Plan | None:
        node = state.store.value_node if state.store is not None else None
        if node is None or state.value.kind is not Kind.TENSOR:
            return None
        plan = call_method(node, "detach").titled("detach the state")
        return plan if state.sure else plan.unsafe("code out of sight may backpropagate through the state")
