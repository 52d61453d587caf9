from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, expression_text, replace
from torchmemlint.flow.backups import kept_backup
from torchmemlint.flow.copies import WeightsCopy, fate, only_saved, snapshot, weights_copy
from torchmemlint.flow.devices import CALLER_DEPTH, on_accelerator
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.values import Fact


class WeightsCopyOnDevice(Rule):
    """A snapshot of a model's weights is kept on the accelerator, though it is only loaded back or saved later.

    ## What it does
    Reports `copy.deepcopy(model.state_dict())`, `{k: v.clone() …}` over a state dict and deep copies of a module that
    are kept as the best weights so far or in a history; as a hint, clones on `self` that another method only copies
    back, and that stay there from then on.

    ## Why it costs memory
    The entries of a state dict lie where the model lies, and so does their copy: one more set of weights for as long
    as the
    name is bound, two while it is bound anew, and one more an epoch in a list. A copy in host memory serves as well.
    `deepcopy(model)` does not copy gradients.

    ## Known limits
    A warning needs a function that itself moves the model to an accelerator or feeds it from there. Copies that are
    called, averaged or trained are silent, and so are those that go to the CPU or straight into `load_state_dict`. A
    copied module whose state is saved at once is a hint.

    ## Fix safety
    The copy is made on the CPU. Unsafe: it becomes a plain dict, and code that mixes its tensors with the model's has
    to
    move them.

    ## References
    - PyTorch documentation, "Saving and Loading Models": `best_model_state` needs a deep copy
    """

    code = "TML503"
    name = "weights-copy-on-device"
    severity = Severity.WARNING
    words = frozenset({"deepcopy", "clone"})

    @on(OpClosed, "copy", "comprehension")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a copy."""
        made = weights_copy(event.function, event.op)
        if made is None:
            yield from self._backup(event)
            return
        if made.whole and only_saved(event.op):
            what = (
                f"the whole of `{made.path or 'the model'}` is copied on its device only to be saved: move its state "
                "to the CPU, entry by entry"
            )
            yield self.finding(event, event.op.node, what, severity=Severity.HINT)
            return
        end = fate(event.op)
        if end in ("used", "host", "transient", "handed") or made.whole and not snapshot(event.function, event.op):
            return
        flow, order = (event.function, event.op.order) if made.site is None else (made.site.flow, made.site.op.order)
        there = on_accelerator(flow, made.module, made.path, order)
        if there is Fact.NO:
            return
        if there is Fact.YES:  # sure where the function itself moves the model or feeds it from the device
            there = Fact.MAYBE if made.site else on_accelerator(flow, made.module, made.path, order, CALLER_DEPTH)
        yield self._found(event, made, end, there)

    def _backup(self, event: OpClosed) -> Iterator[Finding]:
        """`self.saved = [p.clone() for p in parameters]`, which another method copies back and keeps."""
        path = kept_backup(event.function, event.op) if event.op.name == "comprehension" else None
        if path is not None:
            what = (
                f"`{path}` keeps the clones after they are copied back: one more set of what is handed in stays on its "
                "device; empty it then, or clone to the CPU"
            )
            yield self.finding(event, event.op.node, what, severity=Severity.HINT)

    def _found(self, event: OpClosed, made: WeightsCopy, end: str, there: Fact) -> Finding:
        shown = made.path or "the model"
        grows = end == "collected" and bool(event.op.loops)
        much = (
            f"one more set of the weights of `{shown}` each time"
            if grows
            else f"a second set of the weights of `{shown}`"
        )
        message = f"{much} is kept on the device of the model, though it is only read back later: copy it to the CPU"
        severity = (
            Severity.ERROR if grows and there is Fact.YES else self.severity if there is Fact.YES else Severity.HINT
        )
        return self.finding(event, event.op.node, message, severity=severity, fix=self._fix(event, made))

    @staticmethod
    def _fix(event: OpClosed, made: WeightsCopy) -> Plan | None:
        if event.op.name != "copy" or made.whole or made.site is not None or not event.op.arguments:
            return None
        argument = event.op.arguments[0].node
        text = expression_text(event.function.unit, argument)
        plan = replace(event.op.node, f'{{k: v.to("cpu", copy=True) for k, v in {text}.items()}}')
        return Plan("copy to the CPU", plan.steps, False, "the copy is then a plain dict of tensors on the CPU")
