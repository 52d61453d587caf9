from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.findings import Place
from torchmemlint.fixes import Plan, call_method
from torchmemlint.flow.collecting import COLLECTING
from torchmemlint.flow.events import Event, OpClosed
from torchmemlint.flow.graph import Sink, Store, fact, written
from torchmemlint.flow.keeping import holder_kind, outlives
from torchmemlint.flow.narrowing import Narrowed, Share, kept_whole, narrowed, of_forward
from torchmemlint.flow.values import Fact, Kind, Value, known_members
from torchmemlint.index.marks import ATTRIBUTE, COLLECTS, GATHERS, GRAPHS, KEEPS, SLICES

LASTING = frozenset({Sink.ATTRIBUTE, Sink.GLOBAL})
WRITERS = frozenset({"torch.save", "pickle.dump", "joblib.dump"})


class ViewKeepsStorage(Rule):
    """A small view is kept for long, and with it the whole storage of the tensor that it was taken from.

    ## What it does
    Reports slices, rows and elements of a tensor without a graph that are collected over a loop, put on an object or
    saved to a file, when nothing else keeps the tensor they are views of.

    ## Why it costs memory
    Indexing with numbers and ranges copies nothing: the result shares the storage. Keeping `h[:, 0]` of each batch
    keeps every whole `h`. `torch.save` of a view writes the whole storage to the file, too.

    ## Known limits
    How large the part is can be told from the form of the index only: ranges, rows of the first dimension and columns
    of tensors that no forward gave are hints.
    A later `.cpu()` copies the part where the tensor is on an accelerator, and nothing where it is on the CPU: a hint.

    ## Fix safety
    `.clone()` is put behind the view: the same numbers in a storage of their own. Safe unless the storage is written in
    place afterwards; then no fix is offered.

    ## References
    - PyTorch documentation, "Tensor Views"
    - PyTorch documentation, "Serialization semantics": saving and loading tensors preserves views
    """

    code = "TML403"
    name = "view-keeps-storage"
    severity = Severity.WARNING
    words = frozenset({ATTRIBUTE, KEEPS, COLLECTS, GATHERS, "save"})
    needs = (frozenset({COLLECTS, GATHERS, SLICES, *"select narrow split chunk unbind tensor_split".split()}),)
    loud = (frozenset({GRAPHS}), frozenset({ATTRIBUTE, COLLECTS, "save"}))
    roles = frozenset({"module", "forward", "function"})

    @on(OpClosed, "literal.list", "literal.dict", "comprehension", "load", "?call")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a store that outlives the iteration or the call."""
        kind = holder_kind(event.function, event.op) if event.op.stores else None
        for store in event.op.stores if kind is not None else ():
            if self._lasts(event, store, kind):
                part, member = self._first(event, store.value)
                if part is not None:
                    name = event.op.path or store.op.path or "the list"
                    message = f"`{name}` keeps the whole storage of the tensor that this is a small view of"
                    node = store.value_node if member is store.value else None
                    yield self._told(event, part, store.op.node, node, message)

    @on(OpClosed, "save")
    def check_save(self, event: OpClosed) -> Iterator[Finding]:
        """A view that is written to a file with its storage, not as an image."""
        if event.op.callee not in WRITERS:
            return
        for argument in event.op.arguments[:1]:
            value = argument.value
            for member in known_members(value) or (value,):
                part = self._part(event, member)
                if part is not None and not part.moved:
                    node = argument.node if member is value else None
                    message = "the file gets the whole storage of the tensor that this is a view of"
                    yield self._told(event, part, event.op.node, node, message)

    @staticmethod
    def _lasts(event: OpClosed, store: Store, kind: str | None) -> bool:
        if kind == "container":
            return store.how in COLLECTING and outlives(event.op, store)
        return store.how in COLLECTING or (store.how == "assign" and bool(store.op.sunk & LASTING))

    def _first(self, event: Event, value: Value) -> tuple[Narrowed | None, Value]:
        """The stored value as a part, or that member of a stored tuple, dict or record which alone shares its
        storage."""
        members = known_members(value) if value.kind is Kind.CONTAINER else _of_record(event, value)
        for member in (value, *members):
            part = self._part(event, member)
            others = [m for m in members if m is not member]
            if part is not None and not any(part.base in (*m.defs, *m.shares) for m in others):
                return part, member
        return None, value

    @staticmethod
    def _part(event: Event, value: Value) -> Narrowed | None:
        if value.kind is Kind.HOST or value.scalar is Fact.YES or fact(value) is not Fact.NO:
            return None
        part = narrowed(event.function, value)
        return None if part is None or kept_whole(part) else part

    def _told(
        self, event: Event, part: Narrowed, at: cst.CSTNode, node: cst.BaseExpression | None, message: str
    ) -> Finding:
        sure = part.share is Share.MOST and not part.moved and of_forward(part)
        related = (("the view is taken here", Place(part.view.unit, part.view.node)),)
        return self.finding(
            event,
            at,
            message,
            severity=self.severity if sure else Severity.HINT,
            related=related,
            fix=self._fix(part, node),
        )

    @staticmethod
    def _fix(part: Narrowed, node: cst.BaseExpression | None) -> Plan | None:
        if node is None or written(part.view, part.base.value) or part.moved:
            return None
        return call_method(node, "clone").titled("give the part a storage of its own")


def _of_record(event: Event, value: Value) -> tuple[Value, ...]:
    """What a dataclass or named tuple was made of here."""
    if not event.function.program.is_record(value):
        return ()
    return tuple(a.value for op in value.defs if op.name == "construct" for a in op.arguments)
