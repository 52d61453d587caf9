"""Liveness: which names still hold a value at a point of a function, though nobody reads them again.

A name that is bound and dead costs memory at a *peak*: a forward, a backward, an optimizer step, a load, the next
iteration. `held_across` answers for one operation; `Liveness.holdings` lists every name that is held over peaks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Union

from torchmemlint.flow.graph import Op, Sink, closure, fact, upstream
from torchmemlint.flow.timeline import Timeline
from torchmemlint.flow.values import Fact, Kind, Value
from torchmemlint.flow.weights import LIGHT_KINDS, Weight, bound, freed_before, kept_by, weigh

if TYPE_CHECKING:
    import libcst as cst

    from torchmemlint.flow.function import FunctionFlow

MAX_POINTS = 20_000  # beyond it a function is generated code: nothing is said of it
PEAKS = frozenset({"module", "backward", "step", "torch.load", "call"})
Token = Union[Op, "tuple[Op, int]"]


@dataclass(frozen=True)
class Held:
    """A name that holds a value at `peak` and is not read again before it is bound anew."""

    path: str
    bind: Op  # the binding; its `value` is what is held
    peak: Op
    weight: Weight
    carried: bool  # it was bound in an earlier iteration of a loop around the peak

    @property
    def value(self) -> Value:
        """What is held."""
        return bound(self.bind)


@dataclass(slots=True)
class _Names:
    """Bits for the names and for the bindings of the names that are followed."""

    bit: dict[str, int] = field(default_factory=dict)
    bindings: dict[int, int] = field(default_factory=dict)  # point -> bit
    of_name: dict[str, int] = field(default_factory=dict)  # all binding bits of a name
    ops: list[tuple[int, Op]] = field(default_factory=list)  # each binding's bit and operation
    position: dict[Op, int | None] = field(default_factory=dict)  # in the tuple that the name is unpacked from


class Liveness:
    """The live names of one function, solved once."""

    def __init__(self, flow: FunctionFlow) -> None:
        self.flow = flow
        at: dict[cst.CSTNode, list[Op]] = {}
        for op in flow.ops:
            if op.name not in ("bind", "argument", "param"):
                at.setdefault(op.node, []).append(op)
        self.timeline = Timeline(flow.node.body if flow.info.name else flow.node, lambda node: at.get(node, []))  # type: ignore[arg-type]
        points = self.timeline.points
        self._escaped = escaped(flow)
        self._at = {p.op: i for i, p in enumerate(points) if p.op is not None}
        self._binds = self._heavy()
        self._stored: dict[Op, frozenset[Token]] = {}
        self._behind: dict[Op, frozenset[Op]] = {}
        self._names = self._followed() if len(points) < MAX_POINTS else _Names()
        self._live_out = self._solve_live()
        self._reaching = self._solve_reaching()

    # -- the two data flow problems ---------------------------------------------------------------------------------

    def _followed(self) -> _Names:
        """The local names that something heavier than Python data is bound to."""
        names, binds = _Names(), self._binds
        kept = self.timeline.captured | {name for name, _ in binds if self._read_elsewhere(name)}
        for point in self.timeline.points:
            if point.kind == "bind" and point.name not in kept and (point.name, point.node) in binds:
                names.bit.setdefault(point.name, 1 << len(names.bit))
        for index, point in enumerate(self.timeline.points):
            if point.kind == "bind" and point.name in names.bit:
                bit = names.bindings[index] = 1 << len(names.bindings)
                names.of_name[point.name] = names.of_name.get(point.name, 0) | bit
                op = binds.get((point.name, point.node))
                if op is not None:
                    names.ops.append((bit, op))
                    names.position[op] = point.position
        return names

    def _heavy(self) -> dict[tuple[str, cst.CSTNode | None], Op]:
        return {
            (op.path or "", op.node): op
            for op in self.flow.named("bind")
            if op.value.kind not in LIGHT_KINDS and not op.depth
        }

    def _read_elsewhere(self, name: str) -> bool:
        """Is a module-level name read by a function of the file?"""
        info, program = self.flow.info, self.flow.program
        if info.name:
            return False
        for other in map(program.project.seen, program.project.naming(info.path, name)):
            if other.name and all(name != p.name for p in other.parameters):
                flow = program.flow(other)
                paths = [op.path or "" for op in flow.named("load")] if flow is not None else [name]
                if any(path.partition(".")[0] == name for path in paths):
                    return True
        return False

    def _solve_live(self) -> list[int]:
        points, bit = self.timeline.points, self._names.bit
        every = (1 << len(bit)) - 1
        gen = [bit.get(p.name, 0) if p.kind == "read" else every if p.kind == "read all" else 0 for p in points]
        kill = [bit.get(p.name, 0) if p.kind in ("bind", "del") else 0 for p in points]
        live_in, live_out, changed = [0] * len(points), [0] * len(points), bool(bit)
        while changed:
            changed = False
            for i in range(len(points) - 1, -1, -1):
                out = 0
                for after in points[i].after:
                    out |= live_in[after]
                live_out[i] = out
                into = out & ~kill[i] | gen[i]
                if into != live_in[i]:
                    live_in[i], changed = into, True
        self._live_in = live_in
        return live_out

    def _solve_reaching(self) -> list[int]:
        """The bindings that may still be in force when a point is reached."""
        points, names = self.timeline.points, self._names
        reaching, changed = [0] * len(points), bool(names.bit)
        while changed:
            changed = False
            for i, point in enumerate(points):
                out = reaching[i]
                if point.kind in ("bind", "del"):
                    out = out & ~names.of_name.get(point.name, 0) | names.bindings.get(i, 0)
                for after in point.after:
                    if out & ~reaching[after]:
                        reaching[after] |= out
                        changed = changed or after <= i
        return reaching

    # -- questions ---------------------------------------------------------------------------------------------------

    def held(self, op: Op) -> list[Held]:
        """The names that are bound and dead while `op` runs, heaviest first; a name that another, live name shares its
        storage with, or whose value the graph of a live one needs, is not counted."""
        index = self._at.get(op)
        if index is None:
            return []
        alive = self._live_out[index] | self._live_in[self.timeline.points[index].statement]
        live: list[Op] = []
        dead: list[Op] = []
        for bind in self._bound(index):
            (live if self._names.bit[bind.path or ""] & alive else dead).append(bind)
        held = (Held(bind.path or "", bind, op, weigh(bound(bind), bind, op), _carried(bind, op)) for bind in dead)
        found = [h for h in held if h.weight and not self._needed(h.bind, live, op)]
        return sorted(found, key=lambda h: -h.weight)

    def dead(self, op: Op) -> list[Op]:
        """The bindings in force while `op` runs whose names nobody reads again, whatever they hold and share."""
        index = self._at.get(op)
        if index is None:
            return []
        alive = self._live_out[index] | self._live_in[self.timeline.points[index].statement]
        return [bind for bind in self._bound(index) if not self._names.bit[bind.path or ""] & alive]

    def in_force(self, op: Op) -> list[Op]:
        """All bindings of followed names that may be in force while `op` runs."""
        index = self._at.get(op)
        return list(self._bound(index)) if index is not None else []

    def _bound(self, index: int) -> Iterator[Op]:
        reaching = self._reaching[index]
        return (op for bit, op in self._names.ops if reaching & bit)

    def _needed(self, bind: Op, live: list[Op], peak: Op) -> bool:
        """Does a live name or an object that outlives the call keep the value, or does a live graph still need it?"""
        mine = frozenset(self._own(bind))
        if mine & self._escaped or any(mine & self._tokens(other) for other in live):
            return True
        if freed_before(bound(bind), bind, peak):
            return False
        makers = {t if isinstance(t, Op) else t[0] for t in mine}
        return any(
            fact(other.value) is not Fact.NO
            and makers & self._graph(other)
            and not freed_before(bound(other), other, peak)
            for other in live
        )

    def _graph(self, bind: Op) -> frozenset[Op]:
        """The operations that the graph of a binding's value may hold."""
        if bind not in self._behind:
            self._behind[bind] = frozenset(op for maker in bind.inputs for op in upstream(maker))
        return self._behind[bind]

    def _own(self, bind: Op) -> Iterator[Token]:
        """What a binding itself stands for: the results that made its value, by place where they were unpacked."""
        position = self._names.position.get(bind)
        for maker in bind.inputs:
            yield maker if position is None or maker.value.kind is Kind.TENSOR else (maker, position)

    def _tokens(self, bind: Op) -> frozenset[Token]:
        """All storage that a binding keeps alive."""
        if bind not in self._stored:
            own = list(self._own(bind))
            shared = [s for m in bind.inputs for s in m.value.shares]
            makers = [m for m in own if isinstance(m, Op)]
            self._stored[bind] = frozenset(own).union(closure([*makers, *shared], kept_by, 500))
        return self._stored[bind]

    def readers(self, bind: Op) -> list[cst.CSTNode]:
        """The places that read what a binding binds, in order."""
        bit = next((b for b, op in self._names.ops if op is bind), 0)
        reads = self._reads.get(bind.path or "", ())
        return [node for i in reads if self._reaching[i] & bit and (node := self.timeline.points[i].node) is not None]

    @cached_property
    def _reads(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for index, point in enumerate(self.timeline.points):
            if point.kind == "read":
                found.setdefault(point.name, []).append(index)
        return found

    def unpacked(self, bind: Op) -> bool:
        """Is the name one of several that a tuple is unpacked to?"""
        return self._names.position.get(bind) is not None

    def holdings(self) -> dict[Op, list[Held]]:
        """For each binding the peaks over which it is held dead."""
        found: dict[Op, list[Held]] = {}
        for point in self.timeline.points:
            if point.op is not None and point.op.name in PEAKS:
                for held in self.held(point.op):
                    found.setdefault(held.bind, []).append(held)
        return found


def escaped(flow: FunctionFlow) -> set[Op]:
    """Everything that attributes, globals or callees keep: unbinding a name of it frees nothing."""
    kept = [op for op in flow.ops if op.sunk & {Sink.ATTRIBUTE, Sink.GLOBAL} and op.name == "store"]
    written = [source for op in flow.named("write") for source in op.inputs]  # `p.data = x`: the tensor itself moves in
    kept += [*written, *(o for source in written if source.name in ("item", "iter", "read") for o in source.inputs)]
    kept += [d for op in flow.ops for _, _, arguments in op.kept for a in arguments for d in a.value.defs]
    return set(closure(kept, kept_by))


def _carried(bind: Op, peak: Op) -> bool:
    """Was the value bound in an earlier iteration of a loop that the peak is in too?"""
    return bind.order > peak.order and bind.loops[:1] == peak.loops[:1] and bool(bind.loops)


def liveness(flow: FunctionFlow) -> Liveness:
    """The liveness of a function, made once."""
    known = flow.__dict__.get("_liveness")
    with flow.program.questions.about(("liveness", flow.info.path, flow.info.id)):
        if not isinstance(known, Liveness):
            known = flow.__dict__["_liveness"] = Liveness(flow)
    return known


def held_across(flow: FunctionFlow, op: Op) -> list[Held]:
    """The names that hold something heavy while `op` (any operation of `flow`) runs and that nobody reads again."""
    return liveness(flow).held(op)


__all__ = ["Held", "Liveness", "Weight", "bound", "freed_before", "held_across", "kept_by", "liveness", "weigh"]
