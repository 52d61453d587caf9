from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, replace
from torchmemlint.flow.arrays import also_on_host
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op, closure
from torchmemlint.flow.values import Kind, Value

ARRAYS = frozenset("torch.reshape torch.transpose torch.squeeze torch.flatten torch.swapaxes torch.ravel".split())


class TensorFromTensor(Rule):
    """`torch.tensor(t)` of a tensor is one more copy of it.

    ## What it does
    Reports `torch.tensor(t)` and `torch.as_tensor(t).clone()` where `t` is a tensor.

    ## Why it costs memory
    `torch.tensor` always copies: a second storage of the same size. PyTorch warns about it at run time.

    ## Known limits
    Only values that are surely tensors are reported; a list of tensors is not one.

    ## Fix safety
    `t.detach().clone()` is what the call does, spelled out: safe without further arguments. Where nobody writes the
    copy, `t.detach()` alone saves it.

    ## References
    - PyTorch documentation, `torch.tensor`
    """

    code = "TML305"
    name = "tensor-from-tensor"
    severity = Severity.WARNING

    @on(OpClosed, "torch.tensor")
    def tensor(self, event: OpClosed) -> Iterator[Finding]:
        """`torch.tensor(t)`."""
        op = event.op
        first = op.argument(0, "data")
        if first is None or not _is_tensor(first.value) or _chosen(op, first.value) or _by_turns(op, first.value):
            return
        if also_on_host(event.function, first.node):
            return
        shown = event.function.unit.text(first.node)
        message = f"one more copy of `{shown}`, which is a tensor already: `.detach()` shares it, `.clone()` says it"
        yield self.finding(event, op.node, message, fix=self._fix(op, first.node))

    @on(OpClosed, "torch.new_tensor")
    def new(self, event: OpClosed) -> Iterator[Finding]:
        """`a.new_tensor(t)`."""
        op = event.op
        first = op.argument(0, "data")
        if first is not None and _is_tensor(first.value):
            shown = event.function.unit.text(first.node)
            message = f"one more copy of `{shown}`, which is a tensor already: `.to(…)` converts it where it has to"
            yield self.finding(event, op.node, message)

    @on(OpClosed, "torch.clone")
    def as_tensor(self, event: OpClosed) -> Iterator[Finding]:
        """`torch.as_tensor(t).clone()`."""
        op = event.op
        makers = op.receiver.defs if op.receiver is not None else ()
        if len(makers) != 1 or makers[0].name != "torch.as_tensor":
            return
        source, node = makers[0].receiver, makers[0].receiver_node
        if source is not None and node is not None and _is_tensor(source) and makers[0].node is op.receiver_node:
            message = "`as_tensor` of a tensor is that tensor: the clone is one more copy of it"
            plan = replace(op.receiver_node, node) if not makers[0].arguments else None
            fix = Plan("clone the tensor itself", plan.steps) if plan is not None else None
            yield self.finding(event, op.node, message, fix=fix)

    @staticmethod
    def _fix(op: Op, node: cst.BaseExpression) -> Plan | None:
        if len(op.arguments) != 1:
            return None
        plan = replace(op.node, node, ".detach().clone()")
        return Plan("copy explicitly", plan.steps)


def _is_tensor(value: Value) -> bool:
    made = not any(_may_be_array(op) or _is_host(op) for op in value.defs)
    return value.kind is Kind.TENSOR and not value.weak and made


def _is_host(op: Op) -> bool:
    """Is it a number or array on another branch? A setting (`value or self.fill`) stands in where none is given."""
    return op.value.kind is Kind.HOST and op.name != "load"


def _may_be_array(op: Op) -> bool:
    """Is it known for a tensor only by a method that NumPy's arrays have as well, as `state.reshape(1, -1)`?"""
    given = op.receiver
    if op.name not in ARRAYS or not isinstance(op.node, cst.Call) or given is None:
        return False
    return any(made.value.kind is Kind.UNKNOWN or _may_be_array(made) for made in given.defs)


def _chosen(op: Op, value: Value) -> bool:
    """Is it a parameter in one arm of a branch? The test may have told that it is no tensor here."""
    return bool(op.branches) and all(maker.name == "param" for maker in value.defs)


def _by_turns(op: Op, value: Value) -> bool:
    """Is it a member of what the results go back to, as in `d[k] = torch.tensor(d[k])`? The next one is another."""
    return any(
        maker.name in ("iter", "item") and op in maker.inputs for maker in closure(value.defs, lambda o: o.inputs)
    )
