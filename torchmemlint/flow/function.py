"""One function interpreted: its operations, its values, its summary."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow import calls, expressions, project_calls, statements  # the handlers fill the tables
from torchmemlint.flow.dispatch import run
from torchmemlint.flow.frame import Closure, Frame, State
from torchmemlint.flow.graph import Mode, Op, Sink, sealed, upstream
from torchmemlint.flow.lean import children, walk
from torchmemlint.flow.steppers import steps_nested
from torchmemlint.flow.summary import Settings, Summary, summarise
from torchmemlint.flow.types import is_open
from torchmemlint.flow.units import dotted, own_parameters
from torchmemlint.flow.values import HOST, UNKNOWN, Fact, Kind, Value, alternatives, replace

HANDLERS = (calls, expressions, statements)

if TYPE_CHECKING:
    from torchmemlint.flow.program import Program
    from torchmemlint.flow.units import Unit
    from torchmemlint.index.model import FunctionInfo


@dataclass(eq=False)
class FunctionFlow:
    """The finished interpretation of one function under one assumption about its parameters."""

    program: Program
    info: FunctionInfo
    unit: Unit
    node: cst.FunctionDef | cst.Module
    frame: Frame
    entry: Mode
    parameters: list[Op]

    @property
    def summary(self) -> Summary:
        """What a caller has to know, made when one asks: most functions that are looked at are called by nobody. What
        it rests on is noted for all who ask."""
        with self.program.questions.about(("summed", self.program.key(self.info))):
            return self._summary

    @cached_property
    def _summary(self) -> Summary:
        return summarise(self.frame, self.entry, self.parameters)

    @cached_property
    def runs_backward(self) -> bool:
        """Does it run a backward itself?"""
        return any(op.name == "backward" for op in self.ops)

    @property
    def ops(self) -> list[Op]:
        """All operations in the order of evaluation."""
        return self.frame.ops

    @cached_property
    def by_name(self) -> dict[str, list[Op]]:
        """Operations by canonical name."""
        found: dict[str, list[Op]] = {}
        for op in self.ops:
            same = found.get(op.name)
            if same is None:
                found[op.name] = [op]
            else:
                same.append(op)
        return found

    @cached_property
    def handed(self) -> frozenset[str | None]:
        """The keys of the functions that are handed to calls."""
        given = (a.value for op in self.ops for a in op.arguments if a.value.kind is Kind.FUNCTION)
        return frozenset(choice.name for value in given for choice in alternatives(value))

    @cached_property
    def parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """The node that each node stands in."""
        return {child: node for node in walk(self.node) for child in children(node)}

    @cached_property
    def assigned(self) -> dict[str, list[cst.BaseExpression]]:
        """What the plain assignments, those of nested functions too, give each name or attribute path."""
        found: dict[str, list[cst.BaseExpression]] = {}
        for node in walk(self.node):
            if type(node) is cst.Assign:
                for path in dict.fromkeys(dotted(target.target) for target in node.targets):
                    found.setdefault(path or "", []).append(node.value)
        return found

    def named(self, *names: str) -> list[Op]:
        """The operations with one of these names, in order."""
        if len(names) == 1:
            return list(self.by_name.get(names[0], ()))
        return sorted((op for name in names for op in self.by_name.get(name, ())), key=lambda op: op.order)

    def take_apart(self) -> None:
        """Cut what the operations hold of each other, for when nobody reads them any more."""
        for op in self.frame.ops:
            op.take_apart()
        self.frame.__dict__.clear()
        self.__dict__.clear()


def definition(unit: Unit) -> cst.FunctionDef | cst.Module:
    """The function's node in its slice; the whole tree for a module body."""
    if not unit.function.name:
        return unit.tree
    node: cst.CSTNode = unit.tree.body[0]
    if type(node) is cst.If and unit.function.column > 0:
        node = node.body.body[0]
    if type(node) is not cst.FunctionDef:
        raise TypeError(f"no function at line {unit.function.line} of {unit.source.path}")
    return node


@dataclass
class Assumption:
    """What is taken for granted of the parameters and of paths whose use proved their kind."""

    values: Sequence[Value | None] = ()
    evidence: dict[str, Kind] = field(default_factory=dict)
    handed: dict[int, Value] = field(default_factory=dict)
    """What a hook is handed, by the position of its parameter."""
    nested: dict[cst.CSTNode, tuple[Value, ...]] = field(default_factory=dict)
    """The same for nested functions that are hooks."""
    settings: Settings = ()


def interpret(program: Program, info: FunctionInfo, assumed: Assumption) -> FunctionFlow:
    """Run the interpreter; once more where a method call proved the kind of a name that was called before."""
    unit = program.unit(info)
    flow = _once(program, info, unit, assumed)
    proven = {p: k for p, k in flow.frame.evidence.items() if p in flow.frame.unsettled}
    if proven and not assumed.evidence:
        flow = _once(program, info, unit, dataclasses.replace(assumed, evidence=dict(flow.frame.evidence)))
    return flow


def _once(program: Program, info: FunctionInfo, unit: Unit, assumed: Assumption) -> FunctionFlow:
    node = definition(unit)
    entry = program.entry_mode(info)
    frame = Frame(program, unit, info, State({}, entry))
    frame.evidence.update(assumed.evidence)
    frame.settings = {info.parameters[position].name: setting for position, setting in assumed.settings}
    parameters = _parameters(frame, node, assumed.values, assumed.handed)
    if not info.name:
        program.live[info.path] = frame
    try:
        run(frame, node.body)
    finally:
        if not info.name:
            program.live.pop(info.path, None)
    if program.returns_loss(info):
        _walked_by_framework(frame)
    _run_uncalled(frame, assumed.nested)
    sealed(frame.ops)
    return FunctionFlow(program, info, unit, node, frame, entry, parameters)


def _walked_by_framework(frame: Frame) -> None:
    """The framework backpropagates what the function returns: it frees that graph soon after."""
    for back in [op for op in frame.ops if op.name == "return" and not op.depth]:
        for maker in back.inputs:
            for source in upstream(maker):
                source.freed = (*source.freed, back)


def _run_uncalled(frame: Frame, handed: dict[cst.CSTNode, tuple[Value, ...]]) -> None:
    """Nested functions that were never called here (hooks, callbacks) run once with unknown arguments; what a default
    keeps of a graph is there in any case, other defaults stand for what callers leave out."""
    frame.state.alive = True
    mode = frame.state.mode
    while waiting := [c for c in frame.closures.values() if not c.calls]:  # those nested deeper are met on the way
        for closure in waiting:
            closure.calls = 1
            frame.state.mode = Mode.OFF if mode is Mode.OFF or _called_without_grad(frame, closure) else Mode.ENTERED
            frame.loops = closure.op.loops
            values = {k: v if v.fact is not Fact.NO else UNKNOWN for k, v in closure.unset().items()}
            for node, value in zip(own_parameters(closure.node.params), handed.get(closure.node, ())):
                values[node.name.value] = frame.op("handed", node, value).value
            result = project_calls.run_nested(frame, closure, values)
            if result.defs:  # whoever calls it gets the result
                end = Sink.LIBRARY if steps_nested(frame, closure) else Sink.YIELDED
                frame.op("handed out", closure.node, HOST, inputs=[result], passes=False, sunk=[end])
    frame.state.mode, frame.loops = mode, ()


def _called_without_grad(frame: Frame, closure: Closure) -> bool:
    """Is the nested function handed to functions of the project alone that run without grad?"""
    given = [user for user in closure.op.uses if user.name != "bind"]
    if not given or any(user.name != "argument" for user in given):
        return False
    nodes = {id(user.node) for user in given}
    calls = [op for op in frame.ops if op.name == "call" and any(id(a.node) in nodes for a in op.arguments)]
    takers = [frame.program.called(call) for call in calls]
    return bool(takers) and all(t is not None and frame.program.entry_mode(t) is Mode.OFF for t in takers)


def _parameters(
    frame: Frame,
    node: cst.FunctionDef | cst.Module,
    given: Sequence[Value | None],
    handed: dict[int, Value],
) -> list[Op]:
    if isinstance(node, cst.Module):
        return []
    nodes = {p.name.value: p for p in _parameter_nodes(node.params)}
    ops = []
    for position, parameter in enumerate(frame.info.parameters):
        value = frame.program.parameter(frame.unit.index, frame.info, position)
        known = given[position] if position < len(given) else None
        if known is not None and value.kind is Kind.UNKNOWN and known.kind is not Kind.UNKNOWN:
            chosen = known.kind in (Kind.FUNCTION, Kind.CLASS) or len(alternatives(known)) > 1
            members = known.elements if chosen else None
            value = replace(value, kind=known.kind, name=known.name, trainable=known.trainable, elements=members)
        if position == 0 and known is not None and is_open(frame.program, frame.info, known):
            value = replace(value, name=known.name)  # an object of a subclass
        if value.kind in (Kind.UNKNOWN, Kind.TENSOR, Kind.CONTAINER) or _given_record(frame, position, value):
            value = replace(value, graph=Fact.NO, params=frozenset({position}))
        where = nodes.get(parameter.name, node)
        op = frame.op("param", where, handed.get(position, value), path=parameter.name)
        frame.state.env[parameter.name] = op.value
        ops.append(op)
    return ops


def _given_record(frame: Frame, position: int, value: Value) -> bool:
    """Does a caller hand in a record, whose fields may carry a graph? The object's own method does not ask this."""
    return (position > 0 or frame.info.owner is None) and frame.program.is_record(value)


def _parameter_nodes(params: cst.Parameters) -> list[cst.Param]:
    stars = [p for p in (params.star_arg, params.star_kwarg) if type(p) is cst.Param]
    return [*own_parameters(params), *stars]
