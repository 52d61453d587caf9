from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, combine, delete_statement, replace, replace_statement
from torchmemlint.fixes.elsewhere import within
from torchmemlint.flow import custom
from torchmemlint.flow.custom import OnContext, Role
from torchmemlint.flow.events import FunctionClosed
from torchmemlint.flow.function import FunctionFlow
from torchmemlint.flow.values import Kind

CYCLE = (
    "`{what}` {verb} an output kept on `{ctx}`: output, node and `{ctx}` reference each other, so that each call's "
    "tensor stays until Python's collector runs; use `save_for_backward`"
)
VIEW = (
    "`{what}` {verb} a view of an output kept on `{ctx}`: a cycle through the view's base, which Python's collector "
    "can't see; save the output itself with `save_for_backward`"
)
SAVED_VIEW = (
    "a view of an output in `save_for_backward` references the output's own node: without a backward the tensor is "
    "never freed; save the output itself"
)
INPUT = (
    "`{what}` {verb} an input kept on `{ctx}`: it outlives backward as long as the loss is bound, through the next "
    "forward; `save_for_backward` frees it"
)
INTERMEDIATE = (
    "`{what}` {verb} a tensor kept on `{ctx}`: it outlives backward as long as the loss is bound; `save_for_backward` "
    "frees it"
)
PACKED = (Kind.CONTAINER, Kind.INSTANCE)
MESSAGES = {Role.OUTPUT: CYCLE, Role.OUTPUT_VIEW: VIEW, Role.INPUT: INPUT, Role.INTERMEDIATE: INTERMEDIATE}


class CtxAttributeTensor(Rule):
    """A custom `autograd.Function` stores a tensor as an attribute of `ctx` instead of saving it for backward.

    ## What it does
    Reports `ctx.name = tensor` in the forward (or `setup_context`) of an `autograd.Function` where the tensor is an
    input or an output, alone or in a tuple, dict or record, and views of an output, on `ctx` or in
    `save_for_backward`. Other tensors on `ctx` are hints.

    ## Why it costs memory
    Tensors given to `save_for_backward` are freed as soon as backward has run; attributes live as long as the node,
    that is as long as the loss is bound, through the next forward. An output makes a reference cycle besides: output,
    its node, `ctx`, output. Only Python's cyclic collector ends it, and that counts objects, not bytes. A cycle
    through a view of an output passes through C++ and is never collected.

    ## Known limits
    An argument counts as a tensor if the backward returns a gradient for it. Attributes that the backward deletes are
    reported only for outputs, whose cycle stays where no backward runs.

    ## Fix safety
    The attributes are saved with `save_for_backward` and read from `ctx.saved_tensors`. Unsafe: PyTorch then refuses
    in-place changes of the saved tensors, and a second backward.

    ## References
    - PyTorch documentation, "Extending PyTorch": how to use `save_for_backward`
    """

    code = "TML110"
    name = "ctx-attribute-tensor"
    severity = Severity.WARNING
    words = frozenset({"staticmethod", "ctx", "context"})
    names = frozenset({"forward", "setup_context"})

    @on(FunctionClosed)
    def check(self, event: FunctionClosed) -> Iterator[Finding]:
        """One finding a tensor."""
        flow = event.function
        owner = custom.function_class(flow)
        if owner is None:
            return
        backward = custom.reader(flow, owner)
        found = [kept for kept in custom.on_context(flow) if not self._released(kept, backward)]
        fix = self._fix(flow, backward, found)
        context = flow.info.parameters[0].name
        for kept in found:
            template = MESSAGES[kept.role] if kept.store is not None else SAVED_VIEW
            verb = "holds" if kept.value.kind in PACKED else "is"
            message = template.format(what=f"{context}.{kept.attribute}", ctx=context, verb=verb)
            severity = Severity.HINT if kept.role is Role.INTERMEDIATE else self.severity
            yield self.finding(event, kept.op.node, message, severity=severity, fix=fix)

    @staticmethod
    def _released(kept: OnContext, backward: FunctionFlow | None) -> bool:
        if kept.role in (Role.OUTPUT, Role.OUTPUT_VIEW) or backward is None:
            return False
        return custom.released(backward, kept.attribute)

    @staticmethod
    def _fix(flow: FunctionFlow, backward: FunctionFlow | None, found: list[OnContext]) -> Plan | None:
        """All attributes saved by one call behind the last of them; the backward reads them back by position."""
        if any(k.value.kind in PACKED for k in found):
            return None  # only some of its members are tensors
        stored = [k for k in found if k.store is not None and k.role is not Role.OUTPUT_VIEW]
        if backward is None or not stored or len({k.attribute for k in stored}) != len(found):
            return None
        if "save_for_backward" in flow.info.words or any(k.op.branches or k.op.loops for k in stored):
            return None
        others = custom.other_methods(flow, backward)
        if any(k.attribute in m.words for m in others for k in stored):
            return None
        return _saved(flow, backward, stored)


def _saved(flow: FunctionFlow, backward: FunctionFlow, stored: list[OnContext]) -> Plan | None:
    context, reader = flow.info.parameters[0].name, backward.info.parameters[0].name
    values, plans = [], []
    for position, kept in enumerate(stored):
        places = custom.reads(backward, kept.attribute)
        if kept.store is None or kept.store.value_node is None or kept.op.statement is None or not places:
            return None
        values.append(flow.unit.text(kept.store.value_node))
        plans += [within(backward.unit, replace(node, f"{reader}.saved_tensors[{position}]")) for node in places]
    *earlier, last = [k.op.statement for k in stored if k.op.statement is not None]
    plans += [delete_statement(*earlier)] if earlier else []
    plans.append(replace_statement(last, f"{context}.save_for_backward({', '.join(values)})"))
    plan = combine(plans, "save the tensors for backward")
    return plan.unsafe("PyTorch then refuses in-place changes of what is saved, and a second backward")
