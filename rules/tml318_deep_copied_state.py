from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, replace
from torchmemlint.flow.consumers import reading, undisturbed
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op
from torchmemlint.flow.patterns import maker
from torchmemlint.flow.values import Kind, Value

from ._copies import shown

SAVING = frozenset({"save", "load_state_dict"})


class DeepCopiedState(Rule):
    """An object full of tensors is copied deeply, only to be saved or loaded.

    ## What it does
    Reports `dataclasses.asdict` of an object that holds state dicts or tensors, `copy.deepcopy` of a state dict that is
    only saved or loaded into a module, and a `pickle` round trip of either.

    ## Why it costs memory
    Every tensor is copied on its own device: one more set of parameters, with Adam's state three. `torch.save` reads
    the tensors where they are, and `load_state_dict` copies their values into the module's own.

    ## Known limits
    Copies that are kept, returned or given to code out of sight are silent, except `asdict`, whose depth is seldom
    meant. The state of an optimizer is loaded by reference: a copy of it is needed.

    ## Fix safety
    Unsafe: hooks of the module may write the tensors that they load.

    ## References
    - Python documentation, `dataclasses.asdict`; PyTorch documentation, `torch.nn.Module.load_state_dict`
    """

    code = "TML318"
    name = "deep-copied-state"
    severity = Severity.WARNING
    words = frozenset({"asdict", "astuple", "deepcopy", "loads"})

    @on(OpClosed, "copy")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a copy."""
        op = event.op
        given = op.arguments[0] if op.arguments else None
        if given is None:
            return
        if op.callee in ("dataclasses.asdict", "dataclasses.astuple"):
            if _holds_state(given.value):
                what = (
                    f"each tensor in {shown(event, given.node)} is copied on its device: a dict of its "
                    "fields refers to them"
                )
                yield self.finding(event, op.node, what)
        elif op.callee == "copy.deepcopy":
            yield from self._deep(event, op)
        elif (op.callee or "").endswith(".loads"):
            dumped = maker(given.value)
            source = dumped.arguments[0] if dumped is not None and dumped.name == "copy" and dumped.arguments else None
            if not op.uses:
                return  # made to see whether it can be made
            if source is not None and (_is_state(source.value) or source.value.kind in (Kind.MODULE, Kind.TENSOR)):
                what = f"every tensor in {shown(event, source.node)} is copied to the host as bytes and back"
                yield self.finding(event, op.node, what)

    def _deep(self, event: OpClosed, op: Op) -> Iterator[Finding]:
        """`torch.save(copy.deepcopy(model.state_dict()))`, `model.load_state_dict(copy.deepcopy(best))`."""
        found = reading(event.function, op)
        given = op.arguments[0]
        if found.escapes or not found.readers or not all(u.name in SAVING for u in found.ops):
            return
        if not undisturbed(event.function, op, found.ops):
            return
        loads = [u for u in found.ops if u.name == "load_state_dict"]
        if any(
            u.receiver is None or u.receiver.kind is not Kind.MODULE or any(a.name == "assign" for a in u.arguments)
            for u in loads
        ):
            return
        if not loads and not _is_state(given.value) and given.value.kind is not Kind.MODULE:
            return
        use = "loading copies the values once more" if loads else "saving reads the tensors where they are"
        what = f"{shown(event, given.node)} is copied tensor by tensor on its device: {use}"
        yield self.finding(event, op.node, what, fix=_unwrapped(op, given.node, found.ops))


def _unwrapped(op: Op, source: object, users: list[Op]) -> Plan | None:
    if not any(a.node is op.node for user in users for a in user.arguments) or len(op.arguments) != 1:
        return None
    plan = replace(op.node, source)  # type: ignore[arg-type]
    return Plan("use the state itself", plan.steps, False, "hooks of the module may write the tensors that they load")


def _is_state(value: Value) -> bool:
    """Is it a state dict?"""
    made = maker(value)
    if made is None:
        return value.name == "state_dict"
    return value.name == "state_dict" or made.name == "state_dict" or (made.callee or "").endswith(".state_dict")


def _holds_state(value: Value) -> bool:
    """Is it an object made here from tensors or state dicts?"""
    made = maker(value)
    if made is None or made.name != "construct":
        return False
    return any(
        _is_state(a.value) or a.value.kind in (Kind.TENSOR, Kind.MODULE) and not a.value.weak for a in made.arguments
    )
