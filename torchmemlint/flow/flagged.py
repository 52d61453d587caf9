"""Functions that train or evaluate by a flag: forwards whose backward a known call leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import libcst as cst

from torchmemlint.flow.callers import CANDIDATES, CallSite
from torchmemlint.flow.conditions import UNSET, Member, constant, holds
from torchmemlint.flow.enclosing import around
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Mode, Op, Sink, fact, upstream
from torchmemlint.flow.lean import walk
from torchmemlint.flow.values import Fact, Kind
from torchmemlint.index.model import ClassInfo

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

FREEZING = frozenset({"requires_grad_", "torch.requires_grad_"})
SWITCHES = frozenset({"requires_grad", "requires_grad_"})
ENUMERATIONS = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum"})
LEAVING = (cst.Return, cst.Continue, cst.Raise, cst.Break)
HELD = frozenset({Sink.BACKWARD, Sink.RETURNED, Sink.YIELDED, Sink.UNKNOWN_CALL, Sink.ATTRIBUTE, Sink.GLOBAL})


@dataclass(frozen=True)
class Test:
    """A condition that has to come out as `wanted` for a statement to run."""

    test: cst.BaseExpression
    wanted: bool


def left_out(flow: FunctionFlow) -> tuple[Op, CallSite] | None:
    """The first forward of a function whose every backward stands behind a test, with a known call, made with grad on,
    for which the test fails; None where there is none, or the call's result is used with its graph."""
    backs = [op for op in flow.ops if Sink.BACKWARD in op.sunk and not isinstance(op.node, cst.Return)]
    if not backs or not flow.info.name or flow.program.returns_loss(flow.info):
        return None
    tests = [list(tests_of(flow, op)) for op in backs]
    forward = _forward(flow, backs) if all(tests) else None
    if forward is None or _behind_test(flow, forward, tests) or _in_context(flow, forward, tests):
        return None
    known = flow.program.callers.sites(flow.info).calls
    own = list(tests_of(flow, forward))
    skipping = [site for site in known or _through_attributes(flow, tests) if _skips(flow, site, tests, own)]
    return next(((forward, site) for site in skipping if _recorded(site) and not _used(site)), None)


def _skips(flow: FunctionFlow, site: CallSite, tests: list[list[Test]], forward: list[Test]) -> bool:
    """Does the call leave every backward out, and not the forward?"""
    given = _arguments(flow, site)
    left = [any(holds(t.test, given) is (not t.wanted) for t in each) for each in (*tests, forward)]
    return all(left[:-1]) and not left[-1]


def _in_context(flow: FunctionFlow, forward: Op, tests: list[list[Test]]) -> bool:
    """Does a `with` around the forward depend on what the tests ask, `with modes[phase]():`? It may switch grad off."""
    asked = _names(t.test for each in tests for t in each)
    items = [item.item for node in around(flow, forward.node) if isinstance(node, cst.With) for item in node.items]
    named, waiting = set[str](), _names(items)
    while waiting - named:
        named |= waiting
        waiting = _names(given for name in waiting for given in flow.assigned.get(name, ()))
    return not asked.isdisjoint(named)


def _names(nodes: Iterable[cst.CSTNode]) -> set[str]:
    return {n.value for node in nodes for n in walk(node) if isinstance(n, cst.Name)}


def _through_attributes(flow: FunctionFlow, tests: list[list[Test]]) -> Iterator[CallSite]:
    """Of a function that is only handed on as a value the calls by what holds it, which name a flag that it tests:
    `self.step(model, x, y, train=False)`."""
    program, info = flow.program, flow.info
    named = {n.value for each in tests for t in each for n in walk(t.test) if isinstance(n, cst.Name)}
    for flag in sorted(named.intersection(p.name for p in info.parameters)):
        for other in program.project.mentions(flag, info.path)[:CANDIDATES]:
            inner = program.flow(other) if other is not info else None
            for op in inner.named("call") if inner is not None else ():
                if inner is not None and (op.callee, op.target) == (info.id, info.path) and op.argument(None, flag):
                    yield CallSite(inner, op)


def skipped_in_turn(flow: FunctionFlow) -> tuple[Op, cst.For, str] | None:
    """The first forward in a loop over written-down phases (`for phase in ["train", "valid"]`) of which one fails the
    test of every backward, with that loop and the phase as it is written; None where there is none."""
    backs = [op for op in flow.ops if Sink.BACKWARD in op.sunk and not isinstance(op.node, cst.Return)]
    tests = [list(tests_of(flow, op)) for op in backs]
    forward = _forward(flow, backs) if backs and all(tests) else None
    if forward is None or _behind_test(flow, forward, tests) or _in_context(flow, forward, tests):
        return None
    if forward.mode is Mode.ENTERED and flow.info.name and flow.program.callers.entered(flow.info) is Fact.NO:
        return None
    inside = {id(node) for back in backs for node in around(flow, back.node)}
    for loop in around(flow, forward.node):
        if not isinstance(loop, cst.For) or not isinstance(loop.target, cst.Name) or id(loop) not in inside:
            continue
        if _switches_parameters(flow, flow.frame.number(loop)):
            continue
        for phase in _listed(flow, loop.iter):
            given = {loop.target.value: _setting(flow, phase)}
            if all(any(holds(t.test, given) is (not t.wanted) for t in each) for each in tests):
                return forward, loop, flow.unit.text(phase)
    return None


def _switches_parameters(flow: FunctionFlow, loop: int) -> bool:
    """Does something in the loop, here or in a called function, set what requires grad? It may freeze a phase."""
    for op in flow.ops:
        if loop in op.loops and (
            op.name in FREEZING or op.name == "store" and (op.path or "").endswith(".requires_grad")
        ):
            return True
        called = flow.program.called(op) if loop in op.loops and op.name == "call" else None
        if called is not None and not called.words.isdisjoint(SWITCHES):
            return True
    return False


def _listed(flow: FunctionFlow, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The constants that an iterable surely has: those of a list written down, here or where the name is bound."""
    if isinstance(node, cst.Name):
        bound = [op.statement for op in flow.named("bind") if op.path == node.value]
        return _listed(flow, bound[0].value) if len(bound) == 1 and isinstance(bound[0], cst.Assign) else []
    if isinstance(node, cst.BinaryOperation):
        return [*_listed(flow, node.left), *_listed(flow, node.right)]
    return [e.value for e in node.elements] if isinstance(node, (cst.List, cst.Tuple)) else []


def by_default(flow: FunctionFlow, readers: list[Op]) -> str | None:
    """The text of the first test on the parameters that keeps all `readers` from running when the function is called
    with its defaults; None where one of them runs."""
    given = {
        p.name: constant(op.node.default) if isinstance(op.node, cst.Param) else UNSET
        for p, op in zip(flow.info.parameters, flow.parameters)
    }
    failing = [next((t for t in tests_of(flow, op) if holds(t.test, given) is (not t.wanted)), None) for op in readers]
    first = failing[0] if failing else None
    return flow.unit.text(first.test) if first is not None and None not in failing else None


def asked_for(flow: FunctionFlow, op: Op) -> bool:
    """Does the operation stand under an attribute of the object that is off unless who makes the object turns it on?"""
    owner, first = flow.program.project.owner(flow.info), flow.info.parameters[:1]
    tested = [path for t in tests_of(flow, op) if t.wanted and (path := dotted(t.test)) is not None]
    if owner is None or not first:
        return False
    names = [path.partition(".")[2] for path in tested if path.startswith(f"{first[0].name}.")]
    return any(_starts_off(flow, owner, name) for name in names)


def _starts_off(flow: FunctionFlow, owner: ClassInfo, name: str) -> bool:
    """Does the constructor set the attribute to False, or to a parameter of its own whose default that is?"""
    for method in flow.program.classes.assigners(owner, name):
        inner = flow.program.flow(method) if method.name == "__init__" else None
        if inner is None:
            continue
        for store in inner.named("store"):
            if (store.path or "").partition(".")[2] == name:
                made = [maker.node.default for maker in store.inputs if isinstance(maker.node, cst.Param)]
                return store.value.const is False or bool(made) and all(constant(node) is False for node in made)
    return False


def _forward(flow: FunctionFlow, backs: list[Op]) -> Op | None:
    """The first call of a module, a parameter or a part of one that is put into train mode behind the backward calls;
    None where the grad mode depends on something as well."""
    behind = {op for back in backs for maker in back.inputs for op in upstream(maker)}
    parameters = {p.name for p in flow.info.parameters}
    switched = {op.path for op in flow.named("train") if op.path in parameters}
    called = {op: dotted(_called(op)) or "" for op in behind if op.name == "?call"}
    parts = {op for op, path in called.items() if path in parameters or path.partition(".")[0] in switched}
    found = [op for op in behind if op.name == "module" or op in parts]
    if any(op.mode not in (Mode.ENTERED, Mode.ON) for op in found):
        return None
    return min(found, key=lambda op: op.order, default=None)


def _called(op: Op) -> cst.BaseExpression:
    return op.node.func if isinstance(op.node, cst.Call) else cst.Name("_")


def _behind_test(flow: FunctionFlow, forward: Op, tests: list[list[Test]]) -> bool:
    """Does one of the tests guard the forward as well?"""
    own = {id(t.test) for t in tests_of(flow, forward)}
    return any(all(id(t.test) in own for t in each) for each in tests)


def tests_of(flow: FunctionFlow, op: Op) -> Iterator[Test]:
    """The conditions under which the operation's statement runs: branches around it, and exits before it."""
    path = around(flow, op.node)
    for outer, inner in zip(path, path[1:]):
        if isinstance(outer, (cst.If, cst.IfExp)) and inner in (outer.body, outer.orelse):
            yield _told(flow, outer.test, inner is outer.body)
        for earlier in _before(outer, inner):
            if isinstance(earlier, cst.If) and earlier.orelse is None and _leaves(earlier.body):
                yield _told(flow, earlier.test, False)


def _told(flow: FunctionFlow, test: cst.BaseExpression, wanted: bool) -> Test:
    """A condition as what its flag stands for that is given once: `training = phase is Phase.TRAIN`."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return _told(flow, test.expression, not wanted)
    given = flow.assigned.get(test.value, []) if isinstance(test, cst.Name) else []
    once = len(given) == 1 and isinstance(given[0], cst.Comparison)
    named = {p.name for p in flow.info.parameters} if once else set()
    return Test(given[0] if once and test.value not in named else test, wanted)  # type: ignore[attr-defined]


def _before(block: cst.CSTNode, statement: cst.CSTNode) -> list[cst.CSTNode]:
    body = list(block.body) if isinstance(block, (cst.IndentedBlock, cst.Module)) else []
    places = [i for i, s in enumerate(body) if s is statement]
    return list(body[: places[0]]) if places else []


def _leaves(body: cst.BaseSuite) -> bool:
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.With):
        return _leaves(last.body)
    small = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last
    return isinstance(small, LEAVING)


def _arguments(flow: FunctionFlow, site: CallSite) -> dict[str, Any]:
    """What is known of each parameter at a call: a constant, an ellipsis for an object that is not None, or UNSET."""
    bound = flow.program.callers.bound(flow.info, site.op)
    given: dict[str, Any] = {}
    for parameter, argument, op in zip(flow.info.parameters, bound, flow.parameters):
        if argument is None:
            default = op.node.default if isinstance(op.node, cst.Param) else None
            given[parameter.name] = _setting(flow, default)
        elif argument.value.kind in (Kind.OPTIMIZER, Kind.MODULE, Kind.SCALER):
            given[parameter.name] = ...
        else:
            given[parameter.name] = _setting(site.flow, argument.node)
    return given


def _setting(flow: FunctionFlow, node: cst.BaseExpression | None) -> Any:
    """The literal or the member of an enumeration that an expression is, there; UNSET of any other."""
    owner = dotted(node.value) if isinstance(node, cst.Attribute) else None
    info = flow.program.project.lookup(flow.unit.index, owner) if owner is not None else None
    if not isinstance(info, ClassInfo) or not isinstance(node, cst.Attribute) or ENUMERATIONS.isdisjoint(info.bases):
        return constant(node)
    top = flow.program.project.body(flow.program.project.header(info.path))
    body = flow.program.flow(top) if top is not None else None
    values = [v.const for v in body.frame.classes.get(info.qualname, {}).values()] if body is not None else []
    numbers = [value for value in values if isinstance(value, (int, str))]
    return Member(info.name, node.attr.value) if len(numbers) == len(set(numbers)) else UNSET  # two names of one member


def _recorded(site: CallSite) -> bool:
    """Is the call made with grad on, as far as is known?"""
    if site.op.mode is Mode.ENTERED:
        return not site.flow.info.name or site.flow.program.callers.entered(site.flow.info) is not Fact.NO
    return site.op.mode is Mode.ON


def _used(site: CallSite) -> bool:
    """May the caller still use the graph of the result?"""
    return fact(site.op.value) is not Fact.NO and bool(HELD & site.flow.program.callers.sinks(site.flow, site.op))
