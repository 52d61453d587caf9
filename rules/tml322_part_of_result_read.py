from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op
from torchmemlint.flow.layout import index_kind
from torchmemlint.flow.patterns import bare, dimension, maker, number, only_reader, text_of
from torchmemlint.flow.weights import filled_in_loop

NORMS = frozenset({"norm", "linalg.norm", "linalg.vector_norm"})
GATHERED = frozenset({"literal.list", "comprehension"})


class PartOfResultRead(Rule):
    """A result is made in full of which only the beginning, the average or the last member is read.

    ## What it does
    Reports, as hints, a sort of which the first elements are read, results that are collected and stacked only for
    their mean or sum or joined only for their norm, and `output_hidden_states=True` where the last layer's state alone
    is read.

    ## Why it costs memory
    A sort writes all values and, in eight bytes each, all indices: 7.6 times the peak of `topk`. A stack of n results
    holds them all and their copy: 8 times the peak of a running total. All layers' states are held until the result is
    gone, one tensor a layer.

    ## Known limits
    Hints: among equal elements `topk` may choose others, a running total rounds in another order, and where grad is on
    the layers' states are mostly kept anyway.

    ## Fix safety
    No fix: the order of equal elements and of additions changes.

    ## References
    - PyTorch documentation, `torch.topk`
    """

    code = "TML322"
    name = "part-of-result-read"
    severity = Severity.HINT
    words = frozenset({"sort", "argsort", "stack", "cat", "output_hidden_states"})
    roles = frozenset({"module", "forward", "function"})

    @on(OpClosed, "torch.sort", "torch.argsort")
    def sorted(self, event: OpClosed) -> Iterator[Finding]:
        """`x.sort(descending=True)[0][:, :k]`"""
        op = event.op
        if dimension(op) not in (None, -1) or any(a.name in ("stable", "*", "**") for a in op.arguments):
            return
        parts = [op, *(o for o in event.function.named("torch.sort.indices") if o.node is op.node)]
        readers = [user for part in parts for user in part.consumers]
        if readers and all(map(_leading, readers)):
            what = "everything is sorted, with an index of eight bytes each, of which the first are read: `topk`"
            yield self.finding(event, op.node, what)

    @on(OpClosed, "torch.stack")
    def stacked(self, event: OpClosed) -> Iterator[Finding]:
        """`torch.stack([net(x) for net in nets]).mean(0)`"""
        op, user = event.op, only_reader(event.op)
        if user is None or bare(user) not in ("mean", "sum") or not _gathers(op):
            return
        if dimension(op) in (None, 0) and dimension(user) == 0:
            what = (
                f"every result is held, and copied once more by the stack, only for their {bare(user)}: a running "
                "total holds one"
            )
            yield self.finding(event, op.node, what)

    @on(OpClosed, "torch.cat")
    def joined(self, event: OpClosed) -> Iterator[Finding]:
        """`torch.cat([p.grad.view(-1) for p in net.parameters()]).norm()`"""
        op, user = event.op, only_reader(event.op)
        if user is not None and bare(user) in NORMS and _gathers(op):
            what = "all of the tensors are copied into one only for its norm: the norm of their norms is the same"
            yield self.finding(event, op.node, what)

    @on(OpClosed, "?call", "module")
    def states(self, event: OpClosed) -> Iterator[Finding]:
        """`model(x, output_hidden_states=True).hidden_states[-1]`"""
        op = event.op
        asked = next((a for a in op.arguments if a.name == "output_hidden_states"), None)
        if asked is None or asked.value.const is not True:
            return
        states = [user for user in op.consumers if _names_states(user)]
        others = [user for user in op.consumers if user not in states and user.name not in ("load", "item")]
        readers = [reader for state in states for reader in state.consumers]
        if readers and not others and all(map(_last, readers)):
            what = "the state of every layer is kept with the result, of which the last is read: `last_hidden_state`"
            yield self.finding(event, op.node, what)


def _gathers(op: Op) -> bool:
    """Is its operand a list that a loop fills for nothing else?"""
    made = maker(op.receiver) if op.receiver is not None else None
    return made is not None and made.name in GATHERED and made.consumers == [op] and filled_in_loop(made)


def _leading(user: Op) -> bool:
    """`y[:k]`, `y[:, :k]`, `y[..., 0]`: are the first along the last dimension read?"""
    if not isinstance(user.node, cst.Subscript) or user.name not in ("torch.getitem", "torch.index"):
        return False
    *before, last = user.node.slice
    if any(index_kind(e) not in (":", "...") for e in before):
        return False
    index = last.slice
    if isinstance(index, cst.Slice):
        upper = number(index.upper) if index.upper is not None else None
        return index.lower is None and index.step is None and index.upper is not None and (upper is None or upper > 0)
    return bool(before) and isinstance(index, cst.Index) and number(index.value) == 0


def _names_states(user: Op) -> bool:
    if user.name == "load":
        return (user.path or "").endswith(".hidden_states")
    index = user.node.slice[0].slice if isinstance(user.node, cst.Subscript) else None
    return isinstance(index, cst.Index) and text_of(index.value) == "hidden_states"


def _last(user: Op) -> bool:
    """`states[-1]`"""
    if not isinstance(user.node, cst.Subscript) or len(user.node.slice) != 1:
        return False
    index = user.node.slice[0].slice
    return isinstance(index, cst.Index) and number(index.value) == -1
