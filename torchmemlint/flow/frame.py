"""The state of one abstract interpretation: environment, grad mode, loop nest, and the operations recorded so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import libcst as cst

from torchmemlint.flow.graph import Argument, Mode, Op, Sink, Store, joined, link, proven
from torchmemlint.flow.units import dotted, own_parameters
from torchmemlint.flow.values import UNKNOWN, Fact, Kind, Value, join, known_members, mapped, replace, united

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchmemlint.flow.exceptions import Handler
    from torchmemlint.flow.program import Program
    from torchmemlint.flow.units import Unit
    from torchmemlint.index.model import FunctionInfo

__all__ = ["Closure", "Frame", "State", "dotted", "merge"]

INLINE_DEPTH = 3  # how deep calls of nested functions are followed
ENDS: dict[frozenset[Sink], frozenset[Sink]] = {}  # the few sets of sinks that there are, each once in memory


class State:
    """Environment and grad mode at one program point; `alive` is false after return, raise, break and continue."""

    __slots__ = ("alive", "env", "mode")

    def __init__(self, env: dict[str, Value], mode: Mode, alive: bool = True) -> None:
        self.env, self.mode, self.alive = env, mode, alive

    def fork(self) -> State:
        """An independent copy for one branch."""
        return State(dict(self.env), self.mode, self.alive)


def _put_in(value: Value) -> list[Value]:
    """What was put into a container of this function since it was made."""
    if value.kind is not Kind.CONTAINER or any(op.name == "load" for op in value.defs):
        return []
    return [s.value for op in value.defs for s in op.stores]


def _with_members(value: Value) -> tuple[Value, ...]:
    """A value, and what was put into it."""
    return (value, *_put_in(value)) if value.kind is Kind.CONTAINER else (value,)


def merge(states: Sequence[State]) -> State:
    """The state after branches that ended in `states`; dead ones do not count."""
    living = [s for s in states if s.alive] or list(states)
    first, *others = living
    env, mode = first.env, first.mode
    for other in others:
        env = _joined(env, other.env)
        mode = mode if mode is other.mode else Mode.UNKNOWN
    return State(env, mode, any(s.alive for s in states))


def _joined(a: dict[str, Value], b: dict[str, Value]) -> dict[str, Value]:
    env = dict(a)
    for name, value in b.items():
        mine = a.get(name)
        env[name] = value if mine is None else mine if mine is value else join(mine, value)
    return env


@dataclass(eq=False)
class Closure:
    """A nested function or lambda with the frame that defines it."""

    node: cst.FunctionDef | cst.Lambda
    op: Op
    mode: Mode
    defaults: Mapping[str, Value]
    calls: int = 0

    def unset(self) -> dict[str, Value]:
        """What its parameters hold when it is called with nothing, by name; UNKNOWN where it must be given."""
        return {p.name.value: self.defaults.get(p.name.value, UNKNOWN) for p in own_parameters(self.node.params)}


@dataclass(eq=False)
class Frame:
    """One run of the interpreter over one unit."""

    program: Program
    unit: Unit
    info: FunctionInfo
    state: State
    ops: list[Op] = field(default_factory=list)
    returns: list[Value] = field(default_factory=list)
    yields: list[Op] = field(default_factory=list)
    evidence: dict[str, Kind] = field(default_factory=dict)  # path -> kind that its method calls prove
    uses: dict[str, set[str]] = field(default_factory=dict)  # path -> uses that together prove its kind
    unsettled: set[str] = field(default_factory=set)  # paths that were called while their kind was unknown
    frozen: set[str] = field(default_factory=set)  # paths of modules whose parameters were frozen
    closures: dict[cst.CSTNode, Closure] = field(default_factory=dict)
    loops: tuple[int, ...] = ()
    settled: bool = False  # in the second round of a loop: loops inside need no second round of their own
    branches: tuple[int, ...] = ()
    attempts: tuple[int, ...] = ()  # ids of the try bodies around
    handlers: tuple[Handler, ...] = ()  # the except blocks around
    depth: int = 0
    choice: str = ""  # of several functions that one call may run: which of them
    settings: dict[str, Any] = field(default_factory=dict)  # constants that parameters are called with, by name
    statement: cst.CSTNode | None = None
    shared: frozenset[str] = frozenset()  # names declared global (or nonlocal at depth 0)
    exits: list[list[State]] = field(default_factory=list)  # of each loop around: states at break / continue
    classes: dict[str, dict[str, Value]] = field(default_factory=dict)  # of a module body: class-level names
    anchors: dict[str, cst.CSTNode] = field(default_factory=dict)  # path -> the node of its first load
    table: dict[tuple[int, str], Op] = field(default_factory=dict)
    rounds: dict[int, tuple[State, State, State]] = field(default_factory=dict)  # of an if in a loop: ends, and merged
    by_hand: dict[tuple[Op, ...], Mode] = field(default_factory=dict)  # the mode before `guard.__enter__()`
    _numbers: dict[int, int] = field(default_factory=dict)  # of nodes, by their identity
    _numbered: list[cst.CSTNode] = field(default_factory=list)
    _parents: set[str] = field(default_factory=set)  # paths of which attributes were bound

    # -- operations ---------------------------------------------------------------------------------------------

    def op(
        self,
        name: str,
        node: cst.CSTNode,
        value: Value = UNKNOWN,
        *,
        receiver: Value | None = None,
        receiver_node: cst.BaseExpression | None = None,
        arguments: Iterable[Argument] = (),
        inputs: Iterable[Value | None] = (),
        passes: bool = True,
        sunk: Iterable[Sink] = (),
        callee: str | None = None,
        path: str | None = None,
    ) -> Op:
        """The operation `name` at `node`: made the first time, refreshed when a loop comes round again."""
        key, mode = (id(node), name if not self.choice else name + self.choice), self.state.mode
        op = self.table.get(key)
        if op is None:
            op = self.table[key] = Op(
                name, node, self.unit, self.loops, self.branches, self.attempts, self.handlers, len(self.ops),
                self.statement, self.depth,
            )  # fmt: skip
            self.ops.append(op)
        op.arguments, op.receiver, op.receiver_node = tuple(arguments), receiver, receiver_node
        op.mode, op.callee, op.path = mode, callee, path
        if mode is not Mode.OFF:
            op.passes = passes
        else:  # an attribute of a result was made before
            op.passes = passes and name == "load" and receiver is not None and receiver.kind is Kind.UNKNOWN
        if sunk:
            op.sunk = op.sunk.union(sunk)
            op.sunk = ENDS.setdefault(op.sunk, op.sunk)
        op.value = replace(value, defs=(op,))
        if receiver is not None and receiver.defs:
            link(op, receiver)
        for argument in op.arguments:
            if argument.value.defs:
                link(op, argument.value)
        for made in inputs:
            if made is not None and made.defs:
                link(op, made)
        return op

    def derived(self, values: Iterable[Value | None]) -> tuple[Fact, frozenset[int]]:
        """Graph fact and deciding parameters of a result computed from `values` under the present grad mode."""
        if self.state.mode is Mode.OFF:
            return Fact.NO, frozenset()
        graph, params = Fact.NO, frozenset[int]()
        for value in values:
            for part in _with_members(value) if value is not None else ():
                if part.graph > graph:
                    graph = part.graph
                if part.defs and part.defs[0].proven and proven(part):
                    graph = Fact.YES
                params = united(params, part.params)
        if self.state.mode is Mode.UNKNOWN and graph is Fact.YES:
            graph = Fact.MAYBE
        return graph, params

    def tensor(self, values: Iterable[Value | None], **facts: Any) -> Value:
        """A tensor computed from `values`."""
        graph, params = self.derived(values)
        return Value(**{"kind": Kind.TENSOR, "graph": graph, "params": params, **facts})

    def store(
        self,
        holder: Op,
        node: cst.CSTNode,
        value: Value,
        value_node: Any,
        how: str,
        *,
        nested: bool = False,
        **facts: Any,
    ) -> Op:
        """Record that `value` goes into `holder`; the graph flows on to whatever reads the holder."""
        value = self.filled(value)
        op = self.op("store", node, value, inputs=[value], **facts)
        for held in holder.stores:
            if held.op is op:
                held.value, held.value_node = value, value_node
                break
        else:
            holder.stores = (*holder.stores, Store(op, value, value_node, how, nested))
        if op not in holder.inputs:
            joined(op, holder)
        return op

    def filled(self, value: Value) -> Value:
        """A container of this function, or a display of some, with the graphs of what was put into it since it was
        made."""
        if value.kind is not Kind.CONTAINER:
            return value
        inner = mapped(value, self.filled)
        grown = [new for old, new in zip(known_members(value), known_members(inner)) if new is not old]
        if not grown and not _put_in(value):
            return value
        graph, params = self.derived([*grown, value] if _put_in(value) else grown)
        return replace(inner, graph=graph.either(value.graph), params=united(params, value.params))

    # -- environment --------------------------------------------------------------------------------------------

    def read(self, path: str) -> Value | None:
        """The value bound to a variable or attribute path, if this function bound it."""
        return self.state.env.get(path)

    def bind(self, path: str, value: Value) -> None:
        """Bind a path; what was known of its attributes is forgotten."""
        if path in self._parents:
            env, prefix = self.state.env, path + "."
            for key in [key for key in env if key.startswith(prefix)]:
                del env[key]
        self.put(path, value)

    def put(self, path: str, value: Value) -> None:
        """Bind a path and leave what is known of its attributes."""
        self.state.env[path] = value
        parent = path.rpartition(".")[0]
        while parent and parent not in self._parents:
            self._parents.add(parent)
            parent = parent.rpartition(".")[0]

    def forget(self, path: str) -> None:
        """`del path`."""
        self.state.env.pop(path, None)

    @contextmanager
    def arm(self, node: cst.CSTNode) -> Iterator[None]:
        """Inside one arm of an if, try or match statement."""
        outer = self.branches
        self.branches = (*outer, self.number(node))
        try:
            yield
        finally:
            self.branches = outer

    def number(self, node: cst.CSTNode) -> int:
        """A small number that stands for `node` in loop nests and branches."""
        number = self._numbers.get(id(node))
        if number is None:
            self._numbered.append(node)
            number = self._numbers[id(node)] = len(self._numbered)
        return number

    def numbered(self, number: int) -> cst.CSTNode:
        """The node that a number stands for."""
        return self._numbered[number - 1]
