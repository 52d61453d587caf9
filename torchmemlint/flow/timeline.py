"""The control flow of one function as a graph of points: where names are read, bound and deleted, and where an
operation runs. Made from the tree on demand, for the questions of liveness."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import libcst as cst

from torchmemlint.flow import lean
from torchmemlint.flow.lean import NODES

if TYPE_CHECKING:
    from torchmemlint.flow.graph import Op

SKIPPED = ("asynchronous", "keyword", "operator", "annotation", "star", "relative")
COMPREHENSIONS = frozenset({cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp})
READS_ALL = frozenset({"locals", "vars", "globals", "eval", "exec", "dir"})

OpsAt = Callable[[cst.CSTNode], "list[Op]"]


@dataclass(slots=True, eq=False)
class Point:
    """One event in the control flow."""

    kind: str  # "read" | "read all" (locals() and its kin) | "bind" | "del" | "op" | "join"
    name: str = ""
    node: cst.CSTNode | None = None
    op: Op | None = None
    statement: int = 0  # index of the first point of the statement
    position: int | None = None  # of a name that is unpacked: its place in the tuple
    after: list[int] = field(default_factory=list)


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """The fields of a node type that can hold code, in source order."""
    return tuple(name for name in lean.fields(kind) if not name.startswith(SKIPPED))


def parts(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The code nodes directly below `node`."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        if NODES[type(value)]:
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (v for v in value if NODES[type(v)])


def names_in(node: cst.CSTNode) -> Iterator[str]:
    """Every name that is mentioned in a piece of code; attributes' and keywords' own names are not."""
    todo = [node]
    while todo:
        current = todo.pop()
        if type(current) is cst.Name:
            yield current.value
        elif type(current) is cst.Attribute:
            todo.append(current.value)
        else:
            todo.extend(parts(current))


class Timeline:
    """The points of a function's body. `captured`: names that nested functions may read at any time."""

    def __init__(self, body: cst.CSTNode, ops_at: OpsAt) -> None:
        self.points: list[Point] = []
        self.captured: set[str] = set()
        self._ops_at = ops_at
        self._ends: list[int] = []  # the points that lead to the next one
        self._loops: list[tuple[list[int], list[int]]] = []  # points that leave / continue each loop around
        self._statement = 0
        self._block(body)

    # -- points ---------------------------------------------------------------------------------------------------

    def _add(self, kind: str, name: str = "", node: cst.CSTNode | None = None, op: Op | None = None) -> int:
        index = len(self.points)
        self.points.append(Point(kind, name, node, op, self._statement))
        for end in self._ends:
            self.points[end].after.append(index)
        self._ends = [index]
        return index

    def _join(self, *ends: list[int]) -> None:
        self._ends = list(dict.fromkeys(e for group in ends for e in group))

    # -- expressions ----------------------------------------------------------------------------------------------

    def _expression(self, node: cst.CSTNode) -> None:
        if type(node) is cst.Name:  # the most frequent forms by their type: `isinstance` asks abstract classes twice
            self._add("read all" if node.value in READS_ALL else "read", node.value, node)
        elif type(node) is cst.Attribute:
            self._expression(node.value)
            self._operations(node)
        elif type(node) is cst.Lambda:
            self.captured.update(names_in(node))
        elif type(node) is cst.NamedExpr:
            self._expression(node.value)
            self._target(node.target)
        elif type(node) is cst.BooleanOperation or type(node) is cst.IfExp:
            self._choice(node)
        elif type(node) in COMPREHENSIONS:
            self._comprehension(node)
        else:
            for part in parts(node):
                self._expression(part)
            self._operations(node)

    def _operations(self, node: cst.CSTNode) -> None:
        for op in self._ops_at(node):
            self._add("op", op.name, node, op)

    def _choice(self, node: cst.BooleanOperation | cst.IfExp) -> None:
        """The second operand, or one of the two results, may not be evaluated."""
        short = isinstance(node, cst.BooleanOperation)
        others = [node.right] if isinstance(node, cst.BooleanOperation) else [node.body, node.orelse]
        self._expression(node.left if isinstance(node, cst.BooleanOperation) else node.test)
        start = self._ends
        ends: list[list[int]] = []
        for other in others:
            self._ends = list(start)
            self._expression(other)
            ends.append(self._ends)
        self._join(*ends, start if short else [])
        self._operations(node)

    def _comprehension(self, node: Any) -> None:
        self._expression(node.for_in.iter)
        start = self._add("join")
        for part in parts(node):
            self._expression(part)
        self._join(self._ends, [start])
        for end in self._ends:
            self.points[end].after.append(start)
        self._operations(node)

    def _target(self, node: cst.CSTNode) -> None:
        if type(node) is cst.Name:
            self._add("bind", node.value, node)
        elif isinstance(node, (cst.Tuple, cst.List)):
            for position, element in enumerate(node.elements):
                self._target(element.value)
                if type(element.value) is cst.Name and type(element) is not cst.StarredElement:
                    self.points[-1].position = position
        elif type(node) is cst.StarredElement:
            self._target(node.value)
        else:
            for part in parts(node):
                self._expression(part)
            self._operations(node)

    # -- statements -----------------------------------------------------------------------------------------------

    def _block(self, node: cst.CSTNode) -> None:
        for statement in node.body:  # type: ignore[attr-defined]
            self._statement = len(self.points)
            handler = HANDLERS.get(type(statement))
            if handler is not None:
                handler(self, statement)
            else:
                self._expression(statement)
            self._behind(statement)

    def _behind(self, statement: cst.CSTNode) -> None:
        """Called where a statement of a block has ended."""

    def _line(self, node: cst.SimpleStatementLine) -> None:
        self._block(node)

    def _assign(self, node: cst.Assign) -> None:
        self._expression(node.value)
        for target in node.targets:
            self._target(target.target)

    def _annotated(self, node: cst.AnnAssign) -> None:
        if node.value is not None:
            self._expression(node.value)
            self._target(node.target)

    def _augmented(self, node: cst.AugAssign) -> None:
        self._expression(node.target)
        self._expression(node.value)
        self._operations(node)
        self._target(node.target)

    def _delete(self, node: cst.Del) -> None:
        elements = node.target.elements if type(node.target) is cst.Tuple else [node.target]
        for element in elements:
            target = element.value if type(element) is cst.Element else element
            if type(target) is cst.Name:
                self._add("del", target.value, node)
            else:
                self._expression(target)

    def _leave(self, node: cst.CSTNode) -> None:
        for part in parts(node):
            self._expression(part)
        self._operations(node)
        self._ends = []

    def _break(self, _: cst.CSTNode) -> None:
        if self._loops:
            self._loops[-1][0].extend(self._ends)
        self._ends = []

    def _continue(self, _: cst.CSTNode) -> None:
        if self._loops:
            self._loops[-1][1].extend(self._ends)
        self._ends = []

    def _if(self, node: cst.If) -> None:
        self._expression(node.test)
        start = list(self._ends)
        self._block(node.body)
        body, self._ends = self._ends, start
        if type(node.orelse) is cst.If:
            self._if(node.orelse)
        elif node.orelse is not None:
            self._block(node.orelse.body)
        self._join(body, self._ends)

    def _loop(self, node: Any) -> None:
        if type(node) is cst.For:
            self._expression(node.iter)
        head = self._add("join", "loop", node)
        self._loops.append(([], []))
        if type(node) is cst.For:
            start = list(self._ends)
            self._target(node.target)
        else:
            self._expression(node.test)
            start = list(self._ends)
        self._block(node.body)
        breaks, continues = self._loops.pop()
        for end in dict.fromkeys([*self._ends, *continues]):
            self.points[end].after.append(head)
        self._ends = start
        if node.orelse is not None:
            self._block(node.orelse.body)
        self._join(self._ends, breaks)

    def _try(self, node: Any) -> None:
        before, first = list(self._ends), len(self.points)
        self._block(node.body)
        raised = [*before, *range(first, len(self.points))]  # any point of the body may lead to a handler
        if node.orelse is not None:
            self._block(node.orelse.body)
        ends = [self._ends]
        for handler in node.handlers:
            self._ends = list(raised)
            if handler.type is not None:
                self._expression(handler.type)
            self._block(handler.body)
            ends.append(self._ends)
        self._join(*ends)
        if node.finalbody is not None:
            self._join(self._ends, raised)
            self._block(node.finalbody.body)

    def _with(self, node: cst.With) -> None:
        for item in node.items:
            self._expression(item.item)
            if item.asname is not None:
                self._target(item.asname.name)
        self._block(node.body)

    def _match(self, node: cst.Match) -> None:
        self._expression(node.subject)
        start, ends = list(self._ends), [list(self._ends)]
        for case in node.cases:
            self._ends = list(start)
            for name in names_in(case.pattern):
                self._add("read", name, case)
            if case.guard is not None:
                self._expression(case.guard)
            self._block(case.body)
            ends.append(self._ends)
        self._join(*ends)

    def _nested(self, node: cst.FunctionDef | cst.ClassDef) -> None:
        """A nested function or class may read the names around it whenever it runs."""
        self.captured.update(names_in(node.body))
        for part in parts(node):
            if part is not node.body:
                self.captured.update(names_in(part))

    def _shared(self, node: cst.Global | cst.Nonlocal) -> None:
        self.captured.update(item.name.value for item in node.names)

    def _nothing(self, _: cst.CSTNode) -> None:
        pass


HANDLERS: dict[type, Callable[[Timeline, Any], None]] = {
    cst.SimpleStatementLine: Timeline._line,
    cst.Assign: Timeline._assign,
    cst.AnnAssign: Timeline._annotated,
    cst.AugAssign: Timeline._augmented,
    cst.Del: Timeline._delete,
    cst.Return: Timeline._leave,
    cst.Raise: Timeline._leave,
    cst.Break: Timeline._break,
    cst.Continue: Timeline._continue,
    cst.If: Timeline._if,
    cst.For: Timeline._loop,
    cst.While: Timeline._loop,
    cst.Try: Timeline._try,
    cst.TryStar: Timeline._try,
    cst.With: Timeline._with,
    cst.Match: Timeline._match,
    cst.FunctionDef: Timeline._nested,
    cst.ClassDef: Timeline._nested,
    cst.Global: Timeline._shared,
    cst.Nonlocal: Timeline._shared,
    cst.Import: Timeline._nothing,
    cst.ImportFrom: Timeline._nothing,
}
