"""Plans: what a rule wants done to which nodes, and their resolution into plain-data edits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import libcst as cst

from torchmemlint.findings import Edit, Fix
from torchmemlint.flow.lean.fields import NODES

if TYPE_CHECKING:
    from torchmemlint.flow.units import Unit


class Refused(Exception):
    """A step that cannot be made here; caught by `resolve`."""


@dataclass(frozen=True)
class Change:
    """Replace the bytes [start, end) of `unit.source.data` by `content`, whose line ends are line feeds."""

    start: int
    end: int
    content: str


@dataclass(frozen=True)
class Step:
    """One thing to do to a node. Subclasses yield the changes, or raise Refused."""

    def changes(self, place: Ground) -> Iterator[Change]:
        """The changes of this step in the unit behind `place`."""
        raise NotImplementedError

    def joined(self, other: Step) -> Step | None:
        """This step and `other` as one that sees both, where looking at each alone would not do."""
        return None


@dataclass(frozen=True)
class Plan:
    """A fix while the trees are alive: all steps are made, or none. `reason` says why it is not safe."""

    message: str
    steps: tuple[Step, ...]
    safe: bool = True
    reason: str = ""

    def unsafe(self, reason: str) -> Plan:
        """The same plan, applied only on request, because of `reason`."""
        return replace(self, safe=False, reason=reason)

    def titled(self, message: str) -> Plan:
        """The same plan under another message."""
        return replace(self, message=message)


_PARENTS: WeakKeyDictionary[Unit, dict[cst.CSTNode, cst.CSTNode]] = WeakKeyDictionary()


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes directly under a node."""
    for name in node.__dataclass_fields__:
        value = getattr(node, name)
        if isinstance(value, (tuple, list)):
            yield from (item for item in value if NODES[type(item)])
        elif NODES[type(value)]:
            yield value


def _parents(unit: Unit) -> dict[cst.CSTNode, cst.CSTNode]:
    known = _PARENTS.get(unit)
    if known is None:
        known = {}
        open_nodes: list[cst.CSTNode] = [unit.concrete]
        while open_nodes:
            node = open_nodes.pop()
            for child in children(node):
                known[child] = node
                open_nodes.append(child)
        _PARENTS[unit] = known
    return known


@dataclass(frozen=True)
class Ground:
    """The unit a plan is resolved in, with the questions that steps ask of it."""

    unit: Unit
    data: bytes = field(init=False, repr=False)
    first: int = field(init=False, repr=False)  # where the unit's slice of the file begins

    def __post_init__(self) -> None:
        function, rows = self.unit.function, self.unit.source.line_starts
        object.__setattr__(self, "data", self.unit.source.data)
        object.__setattr__(self, "first", rows[function.first_line - 1] if function.name else 0)

    def refuse_unfaithful(self) -> None:
        """Refused where tree and text differ, so that spans are off; a carriage return lost at the end is no harm."""
        unit = self.unit
        if unit.slice.faithful:
            return
        code = unit.concrete.code
        if unit.source.newline != "\r" or len(code.encode("utf-8")) + 1 != len(unit.slice.data) or code.endswith("\r"):
            raise Refused("the tree does not give the text back")

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        """The node's parent. Refused for the root and for nodes of other trees."""
        parent = _parents(self.unit).get(node)
        if parent is None:
            raise Refused("not a node of this function")
        return parent

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Parent, grandparent and so on, up to the module."""
        parents = _parents(self.unit)
        while node in parents:
            node = parents[node]
            yield node

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where the node is, without the parentheses around it."""
        try:
            start, end = self.unit.span(node)
        except KeyError:
            raise Refused("not a node of this function") from None
        if start < self.first:  # the block put around a method
            raise Refused("not in the file")
        return start, end

    def outer(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where the node is, with the parentheses around it."""
        start, end = self.span(node)
        if lpar := getattr(node, "lpar", ()):
            start = self.span(lpar[0])[0]
        if rpar := getattr(node, "rpar", ()):
            end = self.span(rpar[-1])[1]
        return start, end

    def text(self, start: int, end: int) -> str:
        """The source text of a byte range, line ends as line feeds."""
        return self.data[start:end].decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")

    def refuse_comments(self, start: int, end: int) -> None:
        """Refused where a comment of the unit's tree lies in the range: it would be lost."""
        if b"#" not in self.data[start:end]:
            return
        for node in _parents(self.unit):
            if isinstance(node, cst.Comment) and start <= self.span(node)[0] < end:
                raise Refused("a comment would be lost")


def resolve(plan: Plan, unit: Unit) -> Fix | None:
    """The plan as plain-data edits, sorted and not overlapping; None where a step cannot be made or says nothing."""
    ground = Ground(unit)
    try:
        ground.refuse_unfaithful()
        changes = [change for step in plan.steps for change in grounded(step, unit).changes(ground)]
        edits = tuple(_edit(ground, change) for change in _ordered(changes))
    except (Refused, UnicodeError, RecursionError):
        return None
    return Fix(plan.message, edits, plan.safe, plan.reason) if edits else None


def grounded(step: Step, unit: Unit) -> Step:
    """The step with the nodes that libcst parsed in place of the lean ones."""

    def twin(value: object) -> object:
        if isinstance(value, cst.CSTNode):
            return unit.twin(value)
        return tuple(map(twin, value)) if isinstance(value, tuple) else value

    return replace(step, **{f.name: twin(getattr(step, f.name)) for f in fields(step)})


def _ordered(changes: list[Change]) -> list[Change]:
    """Sorted by place. Refused where two overlap, or insert different text at the same place."""
    ordered = sorted(dict.fromkeys(changes), key=lambda change: (change.start, change.end))
    for before, after in zip(ordered, ordered[1:]):
        if before.end > after.start or before.start == after.end:
            raise Refused("overlapping changes")
    return ordered


_WORD = "_"


def _sticks(left: str, right: str) -> bool:
    """Whether the two characters would be read as one token, or a word as a string's prefix."""
    return (left == _WORD or left.isalnum()) and (right == _WORD or right.isalnum() or right in "'\"")


def _edit(ground: Ground, change: Change) -> Edit:
    source, content = ground.unit.source, change.content
    before = ground.data[max(0, change.start - 4) : change.start].decode("utf-8", "ignore")[-1:]
    after = ground.data[change.end : change.end + 4].decode("utf-8", "ignore")[:1]
    if not content and before and after and _sticks(before, after):
        content = " "
    elif content:
        content = (" " if before and _sticks(before, content[0]) else "") + content
        content += " " if after and _sticks(content[-1], after) else ""
    content = content.replace("\n", source.newline)
    content.encode(source.encoding)
    return Edit(change.start, change.end, content, source.location(change.start), source.location(change.end))


def combine(plans: Sequence[Plan], message: str) -> Plan:
    """All the plans as one, made together or not at all; safe only if each is."""
    steps: list[Step] = []
    for step in dict.fromkeys(step for plan in plans for step in plan.steps):
        for i, earlier in enumerate(steps):
            if joined := earlier.joined(step):
                steps[i] = joined
                break
        else:
            steps.append(step)
    reasons = dict.fromkeys(plan.reason for plan in plans if plan.reason)
    return Plan(message, tuple(steps), all(plan.safe for plan in plans), "; ".join(reasons))
