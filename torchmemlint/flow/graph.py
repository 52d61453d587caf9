"""The operations of a function and how values flow between them: one `Op` a syntax node, edges from maker to user.

Rules read it: what made this value, who uses it, where does it end (`sinks`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchmemlint import knowledge
from torchmemlint.flow.values import UNKNOWN, Fact, Form, Kind, Value, known_members

if TYPE_CHECKING:
    import libcst as cst

    from torchmemlint.flow.exceptions import Handler
    from torchmemlint.flow.summary import Kept
    from torchmemlint.flow.units import Unit


class Mode(Form):
    """Grad mode at an operation."""

    ON = "on"  # set by enable_grad / set_grad_enabled(True)
    OFF = "off"
    ENTERED = "entered"  # as the caller had it when the function was entered
    UNKNOWN = "unknown"


class Sink(Form):
    """Where a value ends up."""

    BACKWARD = "backward"  # a backward or grad call walks its graph
    RETURNED = "returned"
    YIELDED = "yielded"
    UNKNOWN_CALL = "unknown call"  # handed to code that we can't see
    LIBRARY = "library call"  # handed to a library that computes or draws, and never runs a backward
    ATTRIBUTE = "attribute"  # stored on an object that outlives the call
    GLOBAL = "global"  # stored in a module-level name, class attribute, closure cell
    HOST = "host"  # turned into Python or NumPy data


_NOWHERE: frozenset[Sink] = frozenset()
_KEPT = frozenset({Sink.ATTRIBUTE, Sink.GLOBAL})
ARITHMETIC = frozenset(
    {"arith", "literal.list", "literal.tuple"}
    | {f"torch.{n}" for n in "add add_ mul sub div lerp lerp_ maximum minimum cat concat hstack vstack stack".split()}
)
"""Operations through which a running total comes round to itself."""


@dataclass(slots=True)
class Argument:
    """An argument at a call: `name` of a keyword, "*"/"**" of a starred one, else None."""

    name: str | None
    value: Value
    node: cst.BaseExpression


@dataclass(slots=True, eq=False)
class Op:
    """One operation at one syntax node.

    `name` is canonical: a torch operator or Tensor method by its bare name with prefix ("torch.cat", "torch.view" for
    both `x.view()` and functional spellings), a module call "module", a project call "call", an unknown one "?call",
    "param", "literal.list/dict/tuple/set", "comprehension", "store", "load" (an attribute or subscript read),
    "arith" (+ - * / @ ...), "compare", "return", "yield", "backward", "step", "const", "iter", "function", "class",
    "narrowed" (a value where a test says that it is no tensor).
    """

    name: str
    node: cst.CSTNode
    unit: Unit
    loops: tuple[int, ...] = ()  # ids of the loops around it, outermost first
    branches: tuple[int, ...] = ()  # ids of the if/try/match arms around it
    attempts: tuple[int, ...] = ()  # ids of the try bodies around it
    handlers: tuple[Handler, ...] = ()  # the except blocks around it, outermost first
    order: int = 0  # position in the order of evaluation
    statement: cst.CSTNode | None = None
    depth: int = 0  # how many inlined nested functions deep
    value: Value = UNKNOWN  # the result
    receiver: Value | None = None
    receiver_node: cst.BaseExpression | None = None
    arguments: tuple[Argument, ...] = ()
    uses: tuple[Op, ...] = field(default_factory=list)  # type: ignore[arg-type]  # operations that consume the result
    inputs: tuple[Op, ...] = field(default_factory=list)  # type: ignore[arg-type]  # whose results it consumes
    callee: str | None = None  # dotted name or function id of what is called
    target: str | None = None  # path of the file that holds the called function
    mode: Mode = Mode.ENTERED
    sunk: frozenset[Sink] = frozenset()  # where this operation itself ends its operands
    stores: tuple[Store, ...] = ()  # a holder's stores
    passes: bool = True  # does the result carry its operands' graph?
    proven: bool = False  # a backward call on the result proves that it carries a graph
    freed: tuple[Op, ...] = ()  # backward calls that free the result's graph
    path: str | None = None  # of a store or load: the variable or attribute path ("self.history")
    kept: tuple[tuple[Kept, Argument | None, list[Argument]], ...] = ()
    """Of a project call: what the callee keeps, the argument that holds it, the arguments that are kept."""
    carried: bool = False  # a value made in an earlier iteration of the innermost loop came in

    def argument(self, position: int | None, name: str | None = None) -> Argument | None:
        """The argument at `position` among the positional ones, or the keyword `name`."""
        plain = [a for a in self.arguments if a.name is None]
        if position is not None and position < len(plain):
            return plain[position]
        return next((a for a in self.arguments if name is not None and a.name == name), None)

    @property
    def consumers(self) -> list[Op]:
        """The operations that compute with the result; names bound to it do not count."""
        return [user for user in self.uses if user.name not in ("bind", "del")]

    def take_apart(self) -> None:
        """Let go of all other operations and values."""
        self.uses = self.inputs = self.stores = self.arguments = self.freed = self.kept = ()
        self.value, self.receiver = UNKNOWN, None

    def __repr__(self) -> str:
        return f"<{self.name} #{self.order}>"


@dataclass(slots=True, eq=False)
class Store:
    """A value put into a holder."""

    op: Op  # the storing operation
    value: Value
    value_node: cst.BaseExpression | None
    how: str  # "append", "setitem", "literal", "assign", "accumulate", ...
    nested: bool = False  # it goes into a container inside the holder (`d[k].append(x)`)


def puts(op: Op, how: str) -> bool:
    """Does a storing operation put its value into a holder in that way?"""
    return any(s.op is op and s.how == how for holder in op.uses for s in holder.stores)


def link(user: Op, value: Value | None) -> None:
    """Record that `user` consumes what made the value."""
    for maker in value.defs if value is not None else ():
        if maker is user:
            user.carried = True
        elif maker not in user.inputs:
            joined(maker, user)


def joined(maker: Op, user: Op) -> None:
    """Make `user` consume the result of `maker`. While a function is interpreted both are lists."""
    user.inputs.append(maker)  # type: ignore[attr-defined]
    maker.uses.append(user)  # type: ignore[attr-defined]


def sealed(ops: Iterable[Op]) -> None:
    """No operation is added any more: tuples take half the memory of lists."""
    for op in ops:
        op.uses, op.inputs = tuple(op.uses), tuple(op.inputs)


def closure(start: Iterable[Op], step: Callable[[Op], Iterable[Op]], limit: int = 5000) -> Iterator[Op]:
    """Every operation reached from `start` by `step`, each once, `start` included."""
    seen = set(start)
    todo = list(seen)
    while todo and len(seen) < limit:
        op = todo.pop()
        yield op
        for other in step(op):
            if other not in seen:
                seen.add(other)
                todo.append(other)
    yield from todo


def upstream(op: Op) -> Iterator[Op]:
    """All operations whose graph `op`'s result may carry, `op` included; detaching operations end the walk."""
    return closure([op], lambda o: sources(o) if o.passes else ())


def sources(op: Op) -> Sequence[Op]:
    """The operands; of an attribute of an object that was made in sight, what this attribute was given."""
    if op.name != "load" or op.receiver is None or not isinstance(op.receiver.elements, dict):
        return op.inputs
    own = op.receiver.defs
    return [source for source in op.inputs if source not in own] or op.inputs


def downstream(op: Op) -> Iterator[Op]:
    """All operations that `op`'s graph reaches, `op` included; detaching operations are reached, not passed."""
    return closure([op], lambda o: o.uses if o.passes or o is op else ())


def sinks(op: Op) -> frozenset[Sink]:
    """Where the graph of `op`'s result ends up within its function. (The walk of `downstream`, by hand: it is asked of
    each parameter of each function.)"""
    if not op.uses:
        return _NOWHERE
    found: set[Sink] = set()
    seen, waiting = {op}, [op]
    while waiting:
        maker = waiting.pop()
        for user in maker.uses:
            if user not in seen:
                seen.add(user)
                if user.sunk:
                    found |= user.sunk if maker.name != "narrowed" else user.sunk - _KEPT
                if user.passes:
                    waiting.append(user)
    return frozenset(found)


def proven(value: Value) -> bool:
    """Does a backward call prove that the value carries a graph, on every path? What it proves of the maker of a
    container is proven of one of its members."""
    if not value.defs or not value.defs[0].proven:
        return False  # the most frequent case
    if not all(op.proven and not _renewed(op) for op in value.defs):
        return False
    settled = value.kind is Kind.CONTAINER and not any(op.stores for op in value.defs)
    members = known_members(value) if settled else ()
    return not members or any(m.graph is Fact.YES or m.graph is Fact.MAYBE and proven(m) for m in members)


def _renewed(op: Op) -> bool:
    """Has each member that a backward walked made room for one without graph: `out["loss"] = out["loss"].detach()`?"""
    put = {_key(s.op) for s in op.stores if s.how == "setitem" and s.value.fact is Fact.NO}
    walked = {_key(user) for user in op.uses if user.name == "item" and user.proven} if put else set()
    return bool(walked) and walked <= put


def _key(op: Op) -> str:
    return op.unit.text(op.node).partition("[")[2]


def fact(value: Value) -> Fact:
    """Does `value` carry an autograd graph? A backward call on it is proof where its making is not understood."""
    if value.graph is Fact.YES or proven(value):
        return Fact.YES
    return value.fact


KEEPERS = frozenset("function literal.tuple literal.list literal.set literal.dict".split())


def freed(value: Value) -> bool:
    """Has a backward call already released the buffers of `value`'s graph, on every path?"""
    return bool(value.defs) and all(map(_freed, value.defs))


def _freed(op: Op) -> bool:
    """A display or a function keeps the graphs of its members; a backward call walks these, not what keeps them. What
    is scaled by a number, averaged, viewed or moved beside the backward saves nothing anew."""
    if op.freed:
        return True
    if op.name == "load" and op.receiver is not None and isinstance(op.receiver.elements, dict):
        return all(map(_freed, sources(op)))
    passes = op.name in KEEPERS or (op.name == "arith" and _scaled(op) or saves_nothing(op)) and not op.carried
    members = [source for source in op.inputs if source.value.fact is not Fact.NO] if passes else []
    return bool(members) and all(map(_freed, members))


def saves_nothing(op: Op) -> bool:
    """Is it an operator, or a method that only tensors have here, that keeps no tensor for its backward?"""
    name = op.name.removeprefix("torch.")
    if op.name == "?call" and (op.callee or "").startswith("?."):
        name = (op.callee or "")[2:]
    known = knowledge.operator(name) if name != op.name else None
    return known is not None and known.differentiable and not known.saves


def _scaled(op: Op) -> bool:
    """Is a number added to the operand, or the operand multiplied or divided by one? It then need not be saved."""
    operator = type(getattr(op.node, "operator", None)).__name__.removesuffix("Assign")
    given = [value for value in (op.receiver, *(a.value for a in op.arguments)) if value is not None]
    tensors = [value for value in given if value.kind is not Kind.HOST]
    if len(given) != 2 or len(tensors) != 1:
        return False
    return operator in ("Add", "Subtract", "Multiply") or operator == "Divide" and given[0] is tensors[0]


def origin(value: Value) -> Op | None:
    """The nearest operation that attached the graph: a module's forward, or a project call that runs one."""
    behind = closure(value.defs, lambda o: o.inputs if o.passes else ())
    found = [op for op in behind if op.name in ("module", "call", "?call") and op.value.graph is not Fact.NO]
    return max(found, key=lambda op: op.order, default=None)  # sets of operations have no order of their own


WRITES = frozenset({"torch.setitem", "write"})


def written(op: Op, base: Value) -> bool:
    """Is the result of `op`, a view of it, or the storage of `base` written in place anywhere in the function?"""
    sources = {op, *base.defs, *base.shares}
    for source in list(sources):
        sources.update(source.value.shares)
    reached = closure(sources, lambda o: [u for u in o.uses if o in u.value.shares or o is op])
    return any(
        u.name in WRITES or (u.name.startswith("torch.") and u.name.endswith("_")) for o in reached for u in o.uses
    )
