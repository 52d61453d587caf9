from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.fixes import Plan, insert_after
from torchmemlint.flow.checkpoints import (
    SAVED,
    Loaded,
    held_by_callers,
    kept_attribute,
    loaded,
    read_by_helper,
    restores_module,
    still_held,
)
from torchmemlint.flow.devices import on_accelerator
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Op
from torchmemlint.flow.reading import last_reader
from torchmemlint.flow.values import Fact, Kind


class CheckpointKeptAlive(Rule):
    """A loaded checkpoint stays bound while training or inference goes on, though nobody reads it again.

    ## What it does
    Reports names that hold a loaded checkpoint, or its state dict under another name, when the first forward, backward
    or step behind `load_state_dict` runs and the names are never read again; and attributes that hold one though
    nothing else in the project names them.

    ## Why it costs memory
    `load_state_dict` copies the values into the model's own parameters. The dictionary keeps a second set of weights,
    and what else the file holds, until its last name is gone: at module level until the program ends. Optimizer state
    that already lies on the right device is adopted, not copied.

    ## Known limits
    A checkpoint that was read to the CPU costs host memory only: a hint. Names that nested functions read, or that
    other
    functions of the file read from the module level, are not reported.

    ## Fix safety
    `del` is put behind the last statement that reads the names. Safe inside a function. Unsafe at module level, where
    another module may import the name.

    ## References
    - PyTorch documentation, "Module.load_state_dict": the parameter `assign`
    """

    code = "TML602"
    name = "checkpoint-kept-alive"
    severity = Severity.WARNING
    words = frozenset({"load_state_dict"})

    @on(OpClosed, "torch.load", "call")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a load, or a call of the project's own function that loads."""
        direct = event.op.name == "torch.load"
        load = loaded(event.function, event.op) if direct else read_by_helper(event.function, event.op)
        if load is None:
            return
        into = next(restores_module(load), None)
        if into is None:
            return
        found = still_held(event.function, load)
        if found is None:
            yield from self._on_object(event, load, into)
            yield from self._by_callers(event, load, into)
            return
        work, binds = found
        names = list(dict.fromkeys(bind.path or "" for bind in binds))
        shown = " and ".join(f"`{name}`" for name in names)
        memory = "" if load.on_device else " in host memory"
        restore = "the copy" if into.name == "torch.copy_" else "`load_state_dict`"
        message = (
            f"{shown} still hold{'s' * (len(names) == 1)} the loaded weights{memory} beside the model's own until "
            f"{self._until(event, names, work)}: delete after {restore}"
        )
        related = (
            ("copied into the model here", Place(into.unit, into.node)),
            ("still held here", Place(work.unit, work.node)),
        )
        yield self.finding(
            event,
            load.op.node,
            message,
            severity=self._severity(event, load, into),
            related=related,
            fix=self._fix(event, load, binds, work),
        )

    @staticmethod
    def _until(event: OpClosed, names: list[str], work: Op) -> str:
        later = {op.path for op in event.function.named("bind") if op.order > work.order}
        if not later.isdisjoint(names):
            return "another value is bound"
        return "the function returns" if event.function.info.name else "the program ends"

    def _on_object(self, event: OpClosed, load: Loaded, into: Op) -> Iterator[Finding]:
        """`self.checkpoint = torch.load(…)`, of which no other method reads anything."""
        store = kept_attribute(event.function, load)
        if store is None:
            return
        memory = "" if load.on_device else " in host memory"
        message = (
            f"`{store.path}` holds the loaded weights{memory} beside the model's own as long as the object lives, and "
            "nothing else reads it: load into a local name"
        )
        related = (("copied into the model here", Place(into.unit, into.node)),)
        severity = self._severity(event, load, into)
        yield self.finding(event, load.op.node, message, severity=severity, related=related)

    def _by_callers(self, event: OpClosed, load: Loaded, into: Op) -> Iterator[Finding]:
        """`checkpoint = resume(path, model)`, where the function restores the model and returns all that it read."""
        for site, work, binds in held_by_callers(event.function, load):
            shown = " and ".join(dict.fromkeys(f"`{bind.path}`" for bind in binds))
            memory = "" if load.on_device else " in host memory"
            message = (
                f"{shown} of the caller still hold{'s' * (len(binds) == 1)} the loaded weights{memory} beside the "
                "model's own while it works: delete after the last reader, or return only what is read"
            )
            related = (
                ("copied into the model here", Place(into.unit, into.node)),
                ("still held here", Place(work.unit, work.node)),
            )
            here = site.op.unit.source.path == event.op.unit.source.path
            place = Place(site.op.unit, site.op.node) if here else Place(load.op.unit, load.op.node)
            yield Finding(self.code, self.name, self._severity(event, load, into), message, place, related)
            return

    def _severity(self, event: OpClosed, load: Loaded, into: Op) -> Severity:
        """Sure where the file is read to an accelerator; without `map_location` only beside a model that is there."""
        if not load.on_device or into.receiver is None or into.receiver.kind is not Kind.MODULE:
            return Severity.HINT
        if load.destination != SAVED or into.receiver_node is None:
            return self.severity
        there = on_accelerator(event.function, into.receiver, dotted(into.receiver_node), into.order)
        return self.severity if there is Fact.YES else Severity.HINT

    @staticmethod
    def _fix(event: OpClosed, load: Loaded, binds: list[Op], work: Op) -> Plan | None:
        flow = event.function
        names = [bind.path or "" for bind in binds]
        line = last_reader(flow, binds, work)
        if line is None or load.op.depth:
            return None
        plan = insert_after(line, f"del {', '.join(dict.fromkeys(names))}")
        safe = bool(flow.info.name)
        return Plan("delete it after loading", plan.steps, safe, "" if safe else "another module may import the name")
