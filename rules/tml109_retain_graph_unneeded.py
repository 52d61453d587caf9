from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.fixes import Plan, remove_keyword
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op
from torchmemlint.flow.retained import Again, again, asked_in_vain, flag, second_order


class RetainGraphUnneeded(Rule):
    """A backward call keeps its graph, and nothing walks the graph again.

    ## What it does
    Reports `retain_graph=True` where no second backward or `autograd.grad` call walks a part of the same graph, and
    `create_graph=True` where the gradients' own graph never reaches a backward. Hints: graphs that are retained in the
    last iteration of a loop too, of which only a part is walked again, or only what a parameter may bring, and
    `backward(create_graph=True)`, whose gradients and parameters reference each other.

    ## Why it costs memory
    Backward frees what the forward saved as it goes. With `retain_graph=True` all of it stays until the loss is bound
    anew, which is after the next forward: two graphs at the peak (measured: 1.38 times).

    ## Known limits
    Graphs that go on into code out of sight are not reported, nor losses that come in as parameters, unless a call
    sets the flag and all that it hands over is in sight.

    ## Fix safety
    The argument is removed. Safe where every backward over the graph is in sight: the gradients are the same.

    ## References
    - PyTorch documentation, `torch.Tensor.backward`
    """

    code = "TML109"
    name = "retain-graph-unneeded"
    severity = Severity.WARNING
    words = frozenset({"retain_graph", "create_graph"})

    MESSAGES: ClassVar = {
        Again.NEVER: "nothing walks the graph of `{root}` again: its saved tensors stay {until}",
        Again.NOT_LAST: "the graph is retained after the last of the losses too: it stays through the next forward, "
        "until the losses are bound anew",
        Again.GIVEN: "nothing in sight walks the graph of `{root}` again: unless what is handed in has one, its saved "
        "tensors stay through the next forward for nothing",
        Again.PARTLY: "the whole graph of `{root}` is retained although only a part of it is walked again",
    }
    CYCLE = (
        "`backward(create_graph=True)` puts the gradients' graph into `.grad`: parameters and gradients reference each "
        "other and keep both graphs until the gradients are set to None"
    )

    @on(OpClosed, "backward")
    def retained(self, event: OpClosed) -> Iterator[Finding]:
        """`retain_graph=True`."""
        op = event.op
        creates = flag(op, "create_graph")
        is_method = all(user.node is not op.node for user in event.function.named("torch.autograd.grad"))
        if creates and is_method:
            yield self.finding(event, op.node, self.CYCLE, severity=Severity.HINT)
        if not creates and not flag(op, "retain_graph"):
            for call in asked_in_vain(event.function, op):
                message = "the graph that this call asks to retain is never walked again, and its saved tensors stay"
                place, kept = Place(call.unit, call.node), (("it is retained here", Place(op.unit, op.node)),)
                yield Finding(self.code, self.name, self.severity, message, place, kept)
        if creates or not flag(op, "retain_graph"):
            return
        need = again(event.function, op)
        template = self.MESSAGES.get(need)
        if template is None:
            return
        sure = need is Again.NEVER and not _let_go(event, op)
        severity = Severity.WARNING if sure else Severity.HINT
        fix = self._fix(op) if need is Again.NEVER else None
        yield self.finding(
            event, op.node, template.format(root=_root(event, op), until=_until(event, op)), severity=severity, fix=fix
        )

    @on(OpClosed, "torch.autograd.grad")
    def created(self, event: OpClosed) -> Iterator[Finding]:
        """`autograd.grad(…, create_graph=True)`."""
        op = event.op
        if not flag(op, "create_graph"):
            return
        need, caller = second_order(event.function, op)
        if need is Again.NEVER:
            message = "nothing walks the graph of these gradients: forward and backward graph stay with them"
            yield self.finding(event, op.node, message, fix=self._first_order(event, op))
        elif need is Again.PARTLY:
            message = f"`{caller}` never walks the graph of these gradients, and holds it all the same"
            yield self.finding(event, op.node, message, severity=Severity.HINT)

    @staticmethod
    def _first_order(event: OpClosed, op: Op) -> Plan | None:
        """Without `create_graph`, which keeps the loss's own graph too; that must not be walked again."""
        walks = [other for other in event.function.named("backward") if other.node is op.node]
        if any(again(event.function, other) is not Again.NEVER for other in walks):
            return None
        return remove_keyword(op.node, "create_graph").titled("don't record the gradients")

    @staticmethod
    def _fix(op: Op) -> Plan:
        return remove_keyword(op.node, "retain_graph").titled("free the graph as backward goes")


def _let_go(event: OpClosed, op: Op) -> bool:
    """Is the result deleted before anything runs that could need its room?"""
    root = _root(event, op)
    deleted = [o.order for o in event.function.named("del") if o.path == root and o.order > op.order]
    between = [o for o in event.function.ops if deleted and op.order < o.order < min(deleted)]
    return bool(deleted) and all(o.name not in ("module", "call", "?call", "backward", "step") for o in between)


def _until(event: OpClosed, op: Op) -> str:
    """When the graph goes: a local that no loop carries on goes with its function."""
    if event.function.info.name and not op.loops:
        return "until the function returns"
    return f"through the next forward, until `{_root(event, op)}` is bound anew"


def _root(event: OpClosed, op: Op) -> str:
    makers = op.receiver.defs if op.receiver is not None else ()
    names = [user.path for maker in makers for user in maker.uses if user.name == "bind" and user.path]
    return names[0] if names else "the loss"
