from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from torchmemlint.api import RUNS, Finding, Rule, Severity, on, role
from torchmemlint.findings import Place
from torchmemlint.fixes import Plan, add_decorator, spell
from torchmemlint.flow.closing import dropped_context, given_in_eval
from torchmemlint.flow.debugging import over_items
from torchmemlint.flow.endings import dropped, trains
from torchmemlint.flow.events import ForwardClosed, FunctionClosed
from torchmemlint.flow.flagged import left_out, skipped_in_turn
from torchmemlint.flow.graph import Mode, Op, Sink, closure, downstream, fact, sinks
from torchmemlint.flow.patterns import alone
from torchmemlint.flow.testcases import in_demonstration, in_test, only_asserted, only_sized
from torchmemlint.flow.values import Fact, Kind
from torchmemlint.index.marks import BORROWS, LOOPS, RUNS_MODULES

OUT_OF_SIGHT = frozenset({Sink.RETURNED, Sink.YIELDED, Sink.UNKNOWN_CALL, Sink.ATTRIBUTE, Sink.GLOBAL})
WANTED = frozenset({Sink.BACKWARD, Sink.RETURNED, Sink.YIELDED, Sink.ATTRIBUTE, Sink.GLOBAL})


class MissingNoGrad(Rule):
    """A forward pass for evaluation, sampling or serving records an autograd graph that no backward uses.

    ## What it does
    Reports calls of modules with grad mode on whose results never reach a backward call: they end as numbers, labels,
    images or files. In a function that trains or evaluates by a flag, a known call that leaves the backward out is
    enough; of a helper that training steps use too, a call whose result is only read.

    ## Why it costs memory
    Every activation of the forward pass is saved for a backward that never comes. `eval()` changes dropout and batch
    norm, not this. Without a graph the same pass needs a fraction of the memory.

    ## Known limits
    A function whose callers are out of sight is reported as a hint unless it puts the module into eval mode itself. A
    test that runs a model outside of a loop over data is a hint, and so are the demonstration at the end of a module's
    own file and a pass of which only the result's sizes are read.

    ## Fix safety
    The function gets the decorator `@torch.no_grad()`. Unsafe: other code of the function then runs without grad too.

    ## References
    - PyTorch documentation, "Autograd mechanics": locally disabling gradient computation
    """

    code = "TML201"
    name = "missing-no-grad"
    severity = Severity.WARNING
    words = frozenset({RUNS_MODULES, BORROWS, "eval"})
    needs = (
        frozenset(
            "eval item argmax cpu numpy tolist detach data max topk float int print norm mean sum save "
            "save_image".split()
        )
        | {LOOPS},
    )
    roles = RUNS

    @on(FunctionClosed)
    def check(self, event: FunctionClosed) -> Iterator[Finding]:
        """One finding a function: its first such forward, the others as further spans."""
        found = [(f, severity) for f in event.forwards if (severity := self._severity(f)) is not None]
        loud = [f for f, severity in found if severity is not Severity.HINT]
        if not found:
            yield from self._flagged(event)
        if not found or dropped_context(event.function):
            return
        first, *others = loud or [f for f, _ in found]
        callee = first.op.path or "the module"
        message = (
            f"`{callee}` runs with grad on and no backward uses its result: every activation of the pass is saved "
            "until the result is dropped; wrap it in `torch.no_grad()`"
        )
        related = tuple(("this forward too", Place(f.op.unit, f.op.node)) for f in others[:4])
        severity = self.severity if loud else Severity.HINT
        fix = self._fix(event, [first, *(f for f, _ in found)]) if all(self._seen(f) for f, _ in found) else None
        yield self.finding(event, first.op.node, message, severity=severity, related=related, fix=fix)

    def _flagged(self, event: FunctionClosed) -> Iterator[Finding]:
        """A function that trains or evaluates by a flag, called for evaluation with grad on."""
        found = left_out(event.function)
        if found is None:
            yield from self._in_turn(event)
            return
        forward, site = found
        callee = forward.path or event.function.unit.text(forward.node).partition("(")[0]
        message = (
            f"`{callee}` records a graph also for the calls that leave the backward out: every activation of the pass "
            "is saved until the result is dropped; enter `torch.set_grad_enabled` with the same flag, or call it "
            "under `torch.no_grad()`"
        )
        related = (("no backward follows this call", Place(site.op.unit, site.op.node)),)
        yield self.finding(event, forward.node, message, related=related)

    def _in_turn(self, event: FunctionClosed) -> Iterator[Finding]:
        """A loop over phases, one of which leaves the backward out, with grad on in all of them."""
        found = skipped_in_turn(event.function)
        if found is None:
            return
        forward, loop, phase = found
        callee = forward.path or event.function.unit.text(forward.node).partition("(")[0]
        message = (
            f"`{callee}` records a graph for {phase} too, where no backward runs: every activation of the pass is "
            "saved until the result is dropped; enter `torch.set_grad_enabled` with the test that guards the backward"
        )
        yield self.finding(
            event, forward.node, message, related=(("the phases", Place(event.function.unit, loop.iter)),)
        )

    def _severity(self, event: ForwardClosed) -> Severity | None:
        op, flow = event.op, event.function
        if fact(op.value) is not Fact.YES or Sink.BACKWARD in sinks(op):
            return None
        told = not op.depth and bool(dropped(flow, op)) and trains(flow, op)  # by TML203
        if event.sinks & WANTED or told or flow.runs_backward and not event.evaluation:
            return None
        if flow.info.is_generator and not event.evaluation and given_in_eval(flow):
            return None  # told of those who iterate
        entered = flow.program.callers.entered(flow.info) if op.mode is Mode.ENTERED else Fact.YES
        if entered is Fact.NO:
            return None
        forgotten = event.evaluation and self._over_data(op) and _guarded_elsewhere(event)
        if _detached_at_once(op) and not forgotten or in_demonstration(flow, op) or only_asserted(op) or only_sized(op):
            return Severity.HINT
        if (in_test(flow) or alone(op)) and not self._over_data(op):
            return Severity.HINT
        if event.evaluation:
            return self.severity if Sink.UNKNOWN_CALL not in event.sinks or entered is Fact.YES else Severity.HINT
        if Sink.UNKNOWN_CALL in event.sinks or (entered is Fact.MAYBE and flow.info.name):
            return Severity.HINT
        if alone(op):
            return Severity.HINT  # run for what its modules record, which may need the graph
        repeated = self._over_data(op) or self._over_files(event)
        repeated = repeated or self._loads_weights(event) or self._called_in_loop(event)
        sure = repeated or op.mode is Mode.ENTERED and given_in_eval(flow)
        return self.severity if sure else Severity.HINT

    @staticmethod
    def _seen(event: ForwardClosed) -> bool:
        """Is all in sight that happens with the result? A module's own method may be a part of a training step."""
        if event.evaluation:
            return True
        project, info = event.function.program.project, event.function.info
        owner = project.owner(info)
        if owner is not None and project.is_module_class(owner) is not Fact.NO:
            return False
        return Sink.UNKNOWN_CALL not in event.sinks

    @staticmethod
    def _called_in_loop(event: ForwardClosed) -> bool:
        """Is the function called again and again?"""
        return any(site.op.loops for site in event.function.program.callers.sites(event.function.info).calls)

    @staticmethod
    def _over_data(op: Op) -> bool:
        """Does the call run in a loop over data, or feed its own result back?"""
        inputs = set(closure(op.inputs, lambda o: o.inputs))
        return bool(op.loops) and (op in inputs or any(o.name in ("iter", "batch") and not _listed(o) for o in inputs))

    @staticmethod
    def _over_files(event: ForwardClosed) -> bool:
        """Does the call run once for each of many items that are on the host: files, rows, texts?"""
        op, flow = event.op, event.function
        inner = role(flow.info) == "forward" or op.path is None  # of one pass: its layers, its steps
        return bool(op.loops) and not inner and over_items(flow, flow.frame.numbered(op.loops[-1]))

    @staticmethod
    def _loads_weights(event: ForwardClosed) -> bool:
        """A module without trained weights that is called once is a smoke test on a small batch."""
        return bool(event.function.named("load_state_dict", "torch.load"))

    @staticmethod
    def _fix(event: FunctionClosed, found: Sequence[ForwardClosed]) -> Plan | None:
        flow, node = event.function, event.function.node
        spelled = spell(flow.unit, "torch.no_grad")
        if not isinstance(node, cst.FunctionDef) or spelled is None or found[0].op.depth:
            return None
        if flow.runs_backward or any(op.value.kind is Kind.OPTIMIZER for op in flow.ops):
            return None  # the function trains as well
        known = flow.program.callers.sites(flow.info).complete
        out_of_sight = OUT_OF_SIGHT - {Sink.RETURNED} if known else OUT_OF_SIGHT
        if any(not f.evaluation and sinks(f.op) & out_of_sight for f in found):
            return None  # who gets the result may train with it
        plan = add_decorator(flow.unit, node, f"{spelled}()")
        return Plan("run the function without grad", plan.steps, False, "all of the function then runs without grad")


def _listed(member: Op) -> bool:
    """Is it a value out of a list of constants that is written down: `for bias in [True, False]`?"""
    lists = [maker for maker in member.inputs if maker.name.startswith("literal.")]
    given = {maker.name for known in lists for maker in known.inputs}
    return bool(lists) and len(lists) == len(member.inputs) and given <= {"load", "const"}


def _guarded_elsewhere(event: ForwardClosed) -> bool:
    """Does the function run the same module under `no_grad` in another place?"""
    others = (op for op in event.function.named("module") if op.path == event.op.path)
    return any(op.mode is Mode.OFF for op in others)


def _detached_at_once(op: Op) -> bool:
    """Does every way from the result end in `.detach()`? Then the graph lives for one pass only."""
    ends = [o for o in downstream(op) if not o.passes and o.name not in ("bind", "del")]
    return bool(ends) and all(o.name == "torch.detach" for o in ends)
