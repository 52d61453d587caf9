"""Questions about callers: under which grad mode is a function called, with what, and where do its results go."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow.arguments import bound_values
from torchmemlint.flow.classes import loads
from torchmemlint.flow.composites import run_by_composite
from torchmemlint.flow.graph import Argument, Mode, Op, Sink, downstream, sinks
from torchmemlint.flow.steppers import steps
from torchmemlint.flow.summary import elsewhere, plain
from torchmemlint.flow.types import declares_data
from torchmemlint.flow.values import CONTEXTUAL, HOST, UNKNOWN, Fact, Kind, Value, join, replace
from torchmemlint.index.model import FunctionInfo

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.flow.program import Program

CANDIDATES = 40  # functions looked through for calls of one function


@dataclass(frozen=True)
class CallSite:
    """One call of a function found in the project."""

    flow: FunctionFlow
    op: Op


@dataclass(frozen=True)
class Sites:
    """The known calls of a function. `complete`: every mention of it in the project is one of them."""

    calls: tuple[CallSite, ...] = ()
    complete: bool = False


class Callers:
    """Answers about callers, made on demand and kept."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def sites(self, info: FunctionInfo) -> Sites:
        """The calls of `info` in the project."""
        key = self.program.key(info)
        ask = self.program.questions.ask
        return ask(("sites", key), lambda: self._search(info, key), Sites(), bulky=True)

    def _search(self, info: FunctionInfo, key: str) -> Sites:
        project = self.program.project
        candidates = project.callers(info)
        if len(candidates) > CANDIDATES:
            return Sites()
        through = [other for other in project.attribute_callers(info) if other not in (*candidates, info)]
        if len(candidates) + len(through) <= CANDIDATES:
            candidates = [*candidates, *through]
        wanted = self._targets(info)
        calls, unseen = [], False
        for candidate in candidates:
            flow = self.program.flow(candidate)
            if flow is None:
                unseen = True
                continue
            found = [op for op in flow.ops if op.name != "argument" and self._runs(op, info, wanted)]
            found = found or self._left_to_heirs(flow, info)
            calls += [CallSite(flow, op) for op in found]
            unseen = unseen or self._escapes(flow, key) or info.owner is not None and _maybe_called(flow, info)
        return Sites(tuple(calls), bool(calls) and not unseen)

    def _left_to_heirs(self, flow: FunctionFlow, info: FunctionInfo) -> list[Op]:
        """`self.step()` in a base class that has no such method: its heirs have."""
        project = self.program.project
        host, owner = project.owner(flow.info), project.owner(info)
        if host is None or owner is None or host.id == owner.id or not flow.info.parameters:
            return []
        if all(base.id != host.id for base in project.mro(owner)[1:]):
            return []
        called = f"{flow.info.parameters[0].name}.{info.name}"
        return [op for op in flow.named("?call") if op.callee == called]

    def _targets(self, info: FunctionInfo) -> set[tuple[str | None, str]]:
        """(file, callee) of the calls that may run it: its own, those of the method it overrides, its class's."""
        project = self.program.project
        owner = project.owner(info)
        wanted: set[tuple[str | None, str]] = {(info.path, info.id)}
        if owner is None:
            return wanted
        if info.name == "__init__":
            return wanted | {(made.path, made.id) for made in (owner, *project.heirs(owner, info))}
        for base in project.mro(owner)[1:]:
            if info.name in base.methods:
                wanted.add((base.path, base.methods[info.name]))
        if self._is_sole(info):
            wanted.add((None, f"?.{info.name}"))  # of an object of which nothing is known: no other class has it
        return wanted

    def _runs(self, op: Op, info: FunctionInfo, wanted: set[tuple[str | None, str]]) -> bool:
        """May the call run `info`? One of a method that it overrides only on an object that may be of its class."""
        if op.callee is None or (op.target, op.callee) not in wanted:
            return False
        if op.callee == info.id or op.name == "construct" or op.receiver is None or op.target is None:
            return True
        owner = self.program.project.owner(info)
        order = self.program.project.mro(owner) if owner is not None else []
        return not _is_super(op) and op.receiver.name in {self.program.key(c) for c in order}

    def _is_sole(self, info: FunctionInfo) -> bool:
        """Has no other class of the project such a method, and no tensor or container one of that name?"""
        name = info.name
        if knowledge.tensor_method(name) or knowledge.container_method(name) is not None:
            return False
        return self.program.project.definitions(name, info.path) == 1

    @staticmethod
    def _escapes(flow: FunctionFlow, key: str) -> bool:
        """Is the function itself handed on as a value (a callback, a thread's target)?"""
        return key in flow.handed

    # -- arguments ----------------------------------------------------------------------------------------------

    def argument(self, info: FunctionInfo, position: int) -> Value:
        """What the callers pass for a parameter, joined; UNKNOWN where there is no call or they differ."""
        key = ("argument", self.program.key(info), position)
        return self.program.questions.ask(key, lambda: self._given(info, position), UNKNOWN)

    def _given(self, info: FunctionInfo, position: int) -> Value:
        found: Value | None = None
        for site in self.sites(info).calls:
            bound = self.bound(info, site.op)
            given = bound[position] if position < len(bound) else None
            if given is None and not info.parameters[position].number:
                continue
            value = self._settled(site, given.value) if given is not None else HOST
            found = value if found is None else join(found, value)
        return found if found is not None else UNKNOWN

    def _settled(self, site: CallSite, value: Value) -> Value:
        """A caller that passes on its own parameter: ask its callers."""
        if value.kind is Kind.UNKNOWN and len(value.params) == 1 and all(op.name == "param" for op in value.defs):
            (position,) = value.params
            value = self.argument(site.flow.info, position)
        given = elsewhere(value).given
        return replace(plain(value), params=frozenset(), const=None, given=given)

    def bound(self, info: FunctionInfo, op: Op) -> list[Argument | None]:
        """The arguments of a call by parameter position."""
        constructs = op.name == "construct"
        receiver = UNKNOWN if constructs else op.receiver
        node: cst.BaseExpression = op.node  # type: ignore[assignment]
        return bound_values(info, op.arguments, receiver, node)

    def context(self, info: FunctionInfo, wanted: Collection[str] | None = None) -> list[Value | None]:
        """For each parameter what the callers pass, for a second interpretation under that assumption. Nothing where
        they tell nothing of those that are `wanted`."""
        places = range(len(info.parameters))
        if wanted is not None:
            asked = [i for i in places if info.parameters[i].name in wanted and self._is_single(info, i)]
            if not any(self.argument(info, i).kind in CONTEXTUAL for i in asked):
                return []
        return [self.argument(info, i) for i in places] if self.sites(info).calls else []

    def _is_single(self, info: FunctionInfo, position: int) -> bool:
        """Is it one object, and not the collection of all further arguments, nor plain data as it is declared?"""
        parameter = info.parameters[position]
        return parameter.kind not in ("vararg", "kwarg") and not declares_data(parameter.annotation)

    # -- grad mode ----------------------------------------------------------------------------------------------

    def entered(self, info: FunctionInfo) -> Fact:
        """Is the function entered with grad on? NO: every known call turns it off; MAYBE: no call is known."""
        key = ("entered", self.program.key(info))
        return self.program.questions.ask(key, lambda: self._entered(info), Fact.MAYBE)

    def _entered(self, info: FunctionInfo) -> Fact:
        facts = {Fact.NO} if run_by_composite(self.program, info) else set()
        for site in sorted(self.sites(info).calls, key=lambda site: site.op.mode is Mode.ENTERED):
            facts.add(self._mode(site))
            if Fact.YES in facts:
                return Fact.YES  # those that ask their own callers come last, and need not be asked
        return Fact.NO if facts == {Fact.NO} or not facts and self._named_without_grad(info) else Fact.MAYBE

    def _named_without_grad(self, info: FunctionInfo) -> bool:
        """Is a method of that name, which no other class has, called with grad off on an object that was handed in? The
        file that does so need not import the class."""
        named = self.program.project.mentions(info.name, info.path) if info.owner and self._is_sole(info) else []
        flows = (self.program.flow(other) for other in named) if len(named) <= CANDIDATES else ()
        calls = ((flow, op) for flow in flows if flow is not None for op in flow.named("?call"))
        return any(
            op.mode is Mode.OFF or op.mode is Mode.ENTERED and self.entered(flow.info) is Fact.NO
            for flow, op in calls
            if op.callee == f"?.{info.name}"
        )

    def _mode(self, site: CallSite) -> Fact:
        if site.op.mode is Mode.OFF:
            return Fact.NO
        if site.op.mode is Mode.UNKNOWN:
            return Fact.MAYBE
        if site.op.mode is Mode.ON or not site.flow.info.name:
            return Fact.YES
        above = self.entered(site.flow.info)
        return Fact.YES if above is Fact.MAYBE else above

    def mode_of_parameter_calls(self, flow: FunctionFlow) -> Mode | None:
        """The grad mode under which a decorator, or the one that a factory makes, calls or wraps its argument, if it is
        the same each time."""
        nested = [c.node.params for c in flow.frame.closures.values()]
        names = {p.name for p in flow.info.parameters[:1]} | {p.params[0].name.value for p in nested if p.params}
        modes = {op.mode for op in flow.named("?call") if op.callee in names}
        modes |= {
            Mode(op.receiver.const) for op in flow.named("guarded") if op.receiver and op.receiver.const != "unknown"
        }
        return modes.pop() if len(modes) == 1 and modes & {Mode.OFF, Mode.ON} else None

    # -- results ------------------------------------------------------------------------------------------------

    def result_sinks(self, info: FunctionInfo) -> frozenset[Sink]:
        """Where the results of all known calls end; RETURNED stays in it where a caller is out of sight."""
        key = ("results", self.program.key(info))
        return self.program.questions.ask(key, lambda: self._result_sinks(info), frozenset())

    def _result_sinks(self, info: FunctionInfo) -> frozenset[Sink]:
        sites = self.sites(info)
        if not sites.calls:
            return frozenset({Sink.LIBRARY if self._stepped(info) else Sink.RETURNED})
        found: set[Sink] = set()
        for site in sites.calls:
            ends = set(sinks(site.op))
            if Sink.RETURNED in ends:
                ends.discard(Sink.RETURNED)
                ends |= self.returned(site.flow)
            found |= ends
        if not sites.complete:
            found.add(Sink.UNKNOWN_CALL)
        return frozenset(found)

    def _stepped(self, info: FunctionInfo) -> bool:
        """Does a library's engine run the function on each batch, and no backward on what it returns?"""
        key = self.program.key(info)
        flows = filter(None, map(self.program.flow, self.program.project.callers(info)[:CANDIDATES]))
        return any(steps(flow.frame, key) for flow in flows)

    def returned(self, flow: FunctionFlow) -> frozenset[Sink]:
        """Where what the function returns ends: by its framework, by its being a forward, by its callers."""
        forward = flow.info.name in ("forward", "__call__") and not self._called_by_name(flow.info)
        if self.program.returns_loss(flow.info) or forward:
            return frozenset({Sink.BACKWARD})
        return self.result_sinks(flow.info)

    def _called_by_name(self, info: FunctionInfo) -> bool:
        """Is it a method called `forward` of what is no module, all of whose calls are known?"""
        owner = self.program.project.owner(info)
        plain = owner is not None and self.program.project.is_module_class(owner) is Fact.NO
        return plain and self.sites(info).complete

    def sinks(self, flow: FunctionFlow, op: Op) -> frozenset[Sink]:
        """Where the graph of an operation's result ends, callers and readers of attributes included."""
        ends = set(sinks(op))
        if Sink.RETURNED in ends:
            ends.discard(Sink.RETURNED)
            ends |= self.returned(flow)
        if Sink.YIELDED in ends:
            ends.discard(Sink.YIELDED)
            ends |= self._handed_out(flow, op) if op.depth else self._iterated(flow.info)
        return frozenset(ends)

    def _iterated(self, info: FunctionInfo) -> frozenset[Sink]:
        """Where the members of a generator end, which runs in the grad mode of those who iterate over it."""
        sites = self.sites(info) if info.is_generator and not info.decorators else Sites()
        users = [use for site in sites.calls if site.op.mode is not Mode.OFF for use in site.op.uses]
        if not sites.complete or any(use.mode is Mode.OFF for use in users):
            return frozenset({Sink.YIELDED})
        ends = self.result_sinks(info)
        return ends if ends <= {Sink.BACKWARD, Sink.HOST, Sink.LIBRARY} else frozenset({Sink.YIELDED})

    def _handed_out(self, flow: FunctionFlow, op: Op) -> frozenset[Sink]:
        """Where the result of a nested function ends that the function returns, and that callers run with grad on."""
        outlets = [o for o in downstream(op) if Sink.YIELDED in o.sunk]
        made = flow.frame.closures.get(outlets[0].node) if len(outlets) == 1 else None
        uses = {use.name for use in made.op.uses} if made is not None else set()
        sites = self.sites(flow.info) if "return" in uses <= {"bind", "return"} else Sites()
        runs = [CallSite(site.flow, use) for site in sites.calls for use in site.op.uses if use.name != "bind"]
        if not sites.complete or not runs or not all(map(self._runs_result, runs)):
            return frozenset({Sink.YIELDED})
        return frozenset().union(*(self.sinks(run.flow, run.op) for run in runs))

    def _runs_result(self, use: CallSite) -> bool:
        """Is what a call gave called in turn, with grad on?"""
        given = use.op.receiver.defs if use.op.name == "?call" and use.op.receiver is not None else ()
        return any(op.name == "call" for op in given) and self._mode(use) is Fact.YES

    def far_sinks(self, flow: FunctionFlow, op: Op) -> frozenset[Sink]:
        """The same with attributes followed to all their readers in the project."""
        ends = set(self.sinks(flow, op))
        if Sink.ATTRIBUTE not in ends:
            return frozenset(ends)
        ends.discard(Sink.ATTRIBUTE)
        for store in downstream(op):
            if Sink.ATTRIBUTE in store.sunk:
                attribute = (store.path or "").rpartition(".")[2]
                ends |= self.attribute_sinks(flow.info.path, attribute) if attribute else {Sink.ATTRIBUTE}
        return frozenset(ends)

    # -- attributes ---------------------------------------------------------------------------------------------

    def attribute_sinks(self, owner_path: str, attribute: str) -> frozenset[Sink]:
        """Where what is read from attributes of that name ends, over all readers in the project."""
        key = ("readers", self.program.project.component(owner_path), attribute)
        return self.program.questions.ask(key, lambda: self._read_sinks(owner_path, attribute), frozenset())

    def _read_sinks(self, owner_path: str, attribute: str) -> frozenset[Sink]:
        readers = self.program.project.attribute_readers(attribute, owner_path)
        if len(readers) > CANDIDATES:
            return frozenset({Sink.UNKNOWN_CALL})
        found: set[Sink] = set()
        for reader in readers:
            flow = self.program.flow(reader)
            if flow is None:
                found.add(Sink.UNKNOWN_CALL)
                continue
            for op in loads(flow, attribute):
                ends = self.sinks(flow, op) - self._own_stores(op)
                found |= self.far_sinks(flow, op) if Sink.ATTRIBUTE in ends else ends
        return frozenset(found)

    @staticmethod
    def _own_stores(op: Op) -> set[Sink]:
        """Storing back into the same attribute (`self.total += x`) is no end of its own."""
        stores = {s.op for s in op.stores}
        others = [o for o in downstream(op) if Sink.ATTRIBUTE in o.sunk and o not in stores]
        return set() if others else {Sink.ATTRIBUTE}


def _maybe_called(flow: FunctionFlow, info: FunctionInfo) -> bool:
    """Is a method of that name called on an object of which nothing is known?"""
    return any(
        op.callee is not None and op.callee.rpartition(".")[2] == info.name and "." in op.callee
        for op in flow.named("?call")
    )


def _is_super(op: Op) -> bool:
    """Is it `super().method(…)`?"""
    node = op.receiver_node if op.receiver_node is not None else getattr(op.node, "func", None)
    node = getattr(node, "value", node)
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "super"
