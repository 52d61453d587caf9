from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.fixes import Plan, set_keyword
from torchmemlint.flow.checkpoints import DOWNLOADED, SAVED, Loaded, loaded, names_of, restores_module
from torchmemlint.flow.devices import moved_in_another_arm, on_accelerator
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.function import FunctionFlow
from torchmemlint.flow.graph import Op
from torchmemlint.flow.optimizers import trained, trains
from torchmemlint.flow.values import Fact, Kind

DISTRIBUTED = frozenset({"init_process_group", "DistributedDataParallel", "spawn", "torchrun"})


class LoadOntoDevice(Rule):
    """A checkpoint is read onto the accelerator beside the model whose weights it only overwrites.

    ## What it does
    Reports `torch.load` without `map_location`, or with a CUDA one, whose result goes into `load_state_dict` of a model
    that is on the accelerator already, and pickled models that come back there while the name they are bound to
    still holds another model.

    ## Why it costs memory
    Without `map_location` every tensor returns to the device it was saved from. `load_state_dict` copies the values, so
    the weights, and with a training checkpoint the optimizer's moments, are allocated twice. In a job of several
    processes each rank does so on the device that the saving rank had, mostly the first.

    ## Known limits
    Where the file was saved is not known: one that was written from the host costs nothing. Where the same function
    trains, whose peak is higher anyway, the rule hints.

    ## Fix safety
    `map_location="cpu"` is added. Safe where the result goes into `load_state_dict` alone: the same values arrive in
    the
    same parameters. Otherwise unsafe: tensors used beside that are then on the CPU.

    ## References
    - PyTorch documentation, "torch.load"
    - PyTorch documentation, "Saving and Loading Models": saving and loading across devices
    """

    code = "TML601"
    name = "load-onto-device"
    severity = Severity.WARNING
    words = frozenset({"load", "load_state_dict_from_url", "load_url", "load_file"})

    @on(OpClosed, "torch.load")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a load."""
        load = loaded(event.function, event.op)
        if not load.on_device:
            return
        into = self._restored(event, load)
        into = into or self._restored_by_caller(event, load)
        if into is not None:
            yield self._beside(event, load, into)
        elif load.destination == SAVED:
            yield from self._pickled(event, load)

    @staticmethod
    def _restored(event: OpClosed, load: Loaded) -> Op | None:
        """The first restore into a module that is on the accelerator by then."""
        for op in restores_module(load):
            if op.receiver is not None and op.receiver_node is not None:
                path = (dotted(op.receiver_node) or "").removesuffix(".module") or None  # of a DataParallel
                if on_accelerator(event.function, op.receiver, path, op.order) is Fact.YES:
                    if moved_in_another_arm(event.function, op.receiver, path, op):
                        continue
                    return op
                if load.destination != SAVED and _moved_beside(event.function, load, op, path):
                    return op
        return None

    @staticmethod
    def _restored_by_caller(event: OpClosed, load: Loaded) -> Op | None:
        """The same in a function that calls this one, which only reads the file and returns what it holds."""
        if load.restores or not any(op.name == "return" for op in load.others):
            return None
        for site in event.function.program.callers.sites(event.function.info).calls:
            for op in restores_module(loaded(site.flow, site.op)):
                path = dotted(op.receiver_node) if op.receiver_node is not None else None
                if op.receiver and on_accelerator(site.flow, op.receiver, path, op.order) is Fact.YES:
                    return op
        return None

    def _beside(self, event: OpClosed, load: Loaded, into: Op) -> Finding:
        model = into.unit.text(into.receiver_node) if into.receiver_node is not None else "the model"
        where = "the device it was saved from" if load.destination == SAVED else "the accelerator"
        message = (
            f"a second set of the weights of `{model}` is read onto {where}, only to be copied into the first: "
            'load with `map_location="cpu"`'
        )
        if load.destination == SAVED and self._distributed(event):
            message += "; every process does so on the same device"
        related = (("copied here", Place(into.unit, into.node)),)
        return self.finding(
            event, load.op.node, message, severity=self._severity(event, load), related=related, fix=self._fix(load)
        )

    def _severity(self, event: OpClosed, load: Loaded) -> Severity:
        if load.destination != SAVED or load.op.callee in DOWNLOADED:
            return Severity.HINT  # published weights mostly come from the CPU
        flow, order = event.function, event.op.order
        beside = trains(flow, order) or trained(flow, order)
        return Severity.HINT if beside and not self._distributed(event) else self.severity

    @staticmethod
    def _distributed(event: OpClosed) -> bool:
        return event.function.program.project.names_any(event.function.unit.index, DISTRIBUTED)

    @staticmethod
    def _fix(load: Loaded) -> Plan | None:
        if (
            load.destination != SAVED
            or load.op.callee != "torch.load"
            or load.op.argument(1, "map_location") is not None
        ):
            return None
        plan = set_keyword(load.op.node, "map_location", '"cpu"')
        plain = all(
            op.name == "load_state_dict" and op.receiver is not None and op.receiver.kind is Kind.MODULE
            for op in load.restores
        )
        safe = not load.others and plain and len(load.copied) == len(load.restores)
        reason = "" if safe else "what else is read from the checkpoint is then on the CPU"
        return Plan("load to the CPU", plan.steps, safe, reason)

    def _pickled(self, event: OpClosed, load: Loaded) -> Iterator[Finding]:
        """A whole model that is read while its name still holds the old one."""
        flow = event.function
        for target in names_of(load):
            old = [op for op in flow.named("bind") if op.path == target.path and op.order < target.order]
            known = next((op for op in reversed(old) if op.inputs and op.inputs[0].value.kind is Kind.MODULE), None)
            value = known.inputs[0].value if known is not None else load.op.value
            if known is None and target.name == "bind":
                continue
            if on_accelerator(flow, value, target.path, load.op.order) is Fact.YES:
                message = (
                    f"the pickled model comes back onto the device it was saved from while `{target.path}` still "
                    "holds the old one there: two sets of weights until it is bound anew; delete the old one "
                    'first, or load a state dict with `map_location="cpu"`'
                )
                yield self.finding(event, load.op.node, message)
                return
        used = {op.name if op.name != "?call" else (op.callee or "").rpartition(".")[2] for op in load.others}
        if used & {"module", "eval", "to", "cuda", "parameters"} and self._device_aware(event):
            yield self.finding(
                event,
                load.op.node,
                "the pickled model comes back onto the device it was saved from, "
                "whatever device is asked for later: pass `map_location`",
                severity=Severity.HINT,
            )

    @staticmethod
    def _device_aware(event: OpClosed) -> bool:
        return event.function.program.project.names_any(event.function.unit.index, frozenset({"cuda", "device"}))


def _moved_beside(flow: FunctionFlow, load: Loaded, restore: Op, path: str | None) -> bool:
    """Is the module moved to the accelerator behind the restore, while a name still holds what was loaded?"""
    moved = restore.receiver is not None and on_accelerator(flow, restore.receiver, path) is Fact.YES
    dropped = any(op.name == "del" for carrier in load.carriers for op in carrier.uses)
    return moved and bool(names_of(load)) and not dropped
