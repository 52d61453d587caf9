from __future__ import annotations

from collections.abc import Iterator

from torchmemlint import knowledge
from torchmemlint.api import RUNS, Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, call_method
from torchmemlint.flow.collecting import Collected, End, collected, collected_by_callee, joined_by_callee
from torchmemlint.flow.epochs import returned_for_epoch
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.mixing import mixed
from torchmemlint.index.marks import COLLECTS, GRAPHS, KEEPERS, TOTAL
from torchmemlint.index.model import FileIndex, FunctionInfo


class OutputsKeptOnDevice(Rule):
    """The outputs of a whole loader are collected on the device that computed them.

    ## What it does
    Reports lists, dicts and attributes that take in a forward's result once an iteration under `no_grad`, where it is
    neither moved to the CPU nor reduced to numbers or labels: predictions, features, probability maps of a metric,
    samples of every step of which the last one is used, or all only where an argument asks for them; tensors that a
    helper joins to what it has joined before. Also what a method returns that a framework runs once a batch and keeps
    for the end of the epoch.

    ## Why it costs memory
    Without a graph each output still keeps its own bytes. The collection grows by one output an iteration up to the
    size of the data set, and `torch.cat` at its end needs the same once more.

    ## Known limits
    A collection that is returned out of sight, or computed with, may be needed on the device, and one filled in a range
    of written steps may be short: hints. A file that names no accelerator is not reported.

    ## Fix safety
    `.cpu()` is put behind the stored value. Unsafe: what is computed from the collection then runs on the CPU.

    ## References
    - PyTorch documentation, "Frequently Asked Questions": don't hold onto tensors and variables you don't need
    """

    code = "TML401"
    name = "outputs-kept-on-device"
    severity = Severity.WARNING
    words = frozenset({COLLECTS, KEEPERS, TOTAL})
    needs = (frozenset({GRAPHS}),)
    roles = RUNS

    @classmethod
    def matters(cls, info: FunctionInfo, file: FileIndex, words: frozenset[str], hints: bool = True) -> bool:
        """Also methods whose results a framework keeps until the end of the epoch."""
        end = knowledge.epoch_ends().get(info.name)
        return (end is not None and end in file.words) or super().matters(info, file, words, hints)

    @on(OpClosed, "literal.list", "literal.dict", "literal.set", "comprehension", "load", "?call", "construct")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a store."""
        if event.op.stores:
            for found in collected(event.function, event.op):
                yield self._told(event, found)

    @on(OpClosed, "call")
    def check_call(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a call that stores."""
        for found in (*collected_by_callee(event.function, event.op), *joined_by_callee(event.function, event.op)):
            yield self._told(event, found)

    @on(OpClosed, "return")
    def check_return(self, event: OpClosed) -> Iterator[Finding]:
        """What a framework keeps until the end of the epoch."""
        found = list(returned_for_epoch(event.function, event.op))
        for ends, severity in (({End.UNREAD}, self.severity), ({End.HOST}, self.severity), (set(End), Severity.HINT)):
            names = [name for name, end, _ in found if end in ends]
            if names:
                keep = " and ".join(names) + (" is" if len(names) == 1 else " are") + " kept on the device"
                reads = ", which never reads it" if ends == {End.UNREAD} else ""
                message = f"{keep} for each batch of the epoch, until `{found[0][2].name}`{reads}"
                yield self.finding(event, event.op.node, message, severity=severity)
                return

    def _told(self, event: OpClosed, found: Collected) -> Finding:
        message = f"`{found.name}` keeps a forward's output on the device from every iteration"
        if found.end is End.LAST:
            message += ", and only the last one is read"
        elif found.end is End.ASKED:
            message += ", and with the default arguments nothing reads them: collect only what is asked for"
        else:
            message += ": it grows with the number of batches" if found.over_data else " until it is dropped"
        unread = found.end is End.LAST or found.end is End.ASKED and not found.doubtful
        sure = unread or (found.end is End.HOST and found.over_data and not found.pooled)
        severity = self.severity if sure else Severity.HINT
        return self.finding(event, found.op.node, message, severity=severity, fix=self._fix(event, found))

    @staticmethod
    def _fix(event: OpClosed, found: Collected) -> Plan | None:
        node = found.value_node
        if node is None or not found.tensor or found.end is not End.HOST or mixed(event.function, event.op):
            return None
        plan = call_method(node, "cpu").titled("move it to the CPU")
        return plan.unsafe("what is computed from the collection then runs on the CPU")
