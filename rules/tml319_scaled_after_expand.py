from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.flow.attention import TURNS
from torchmemlint.flow.consumers import counted
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op, closure
from torchmemlint.flow.layout import EXPANDING, NONE, index_kind, units
from torchmemlint.flow.patterns import (
    bare,
    dimension,
    input_of,
    is_module,
    maker,
    nodes,
    only_reader,
    operands,
    sign,
    through,
    upstream_within,
)
from torchmemlint.flow.scalars import scalar_like, written_number
from torchmemlint.flow.values import Kind, Value
from torchmemlint.index.marks import COLUMN

from ._copies import shown

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

FACTORS = frozenset({"*", "/"})
VIEWS = frozenset({"view", "reshape", "unsqueeze", "squeeze"})
UNARY = frozenset({"sqrt", "float", "to", "exp", "log", "rsqrt"})


class ScaledAfterExpand(Rule):
    """Work is done on a large tensor where doing it on the small one, before or after, gives the same.

    ## What it does
    Reports arithmetic of an expanded view with a number (scale first, then expand), rows copied by an index of which
    only one column each is read (index both at once), `interpolate` of all channels of which one is read, and a linear
    layer over all positions of which one is read; as a hint, the product of all pairs of rows times a number.

    ## Why it costs memory
    The arithmetic writes the expanded tensor out, and autograd may save it: for a mask over an embedding table of
    267 000 rows that is 428 MB. Copied rows are as large as the rows, wanted is a number each; upsampled channels cost
    their number times the one that is read; logits of every position, measured, 512 times those of the last.

    ## Known limits
    Tensors that are also read as a whole are silent, and so are expansions to one dimension: a number for each sample.

    ## Fix safety
    No fix: two statements have to change places.

    ## References
    - PyTorch documentation, `torch.Tensor.expand`, "Tensor Views"
    """

    code = "TML319"
    name = "scaled-after-expand"
    severity = Severity.WARNING
    words = frozenset("linear expand expand_as broadcast_to index_select interpolate matmul bmm t T".split())
    modules = frozenset({"Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d", "Linear"})
    needs = (
        frozenset(
            {COLUMN, *"gather expand expand_as broadcast_to index_select interpolate Upsample matmul bmm t T".split()}
        ),
    )
    loud = (frozenset({COLUMN, "gather", "expand", "expand_as", "broadcast_to"}),)
    file_words = frozenset(
        "Linear linear expand expand_as broadcast_to index_select interpolate Upsample matmul bmm t T".split()
    )
    roles = frozenset({"module", "forward", "function"})

    @on(OpClosed, "arith", "torch.mul", "torch.div")
    def scaled(self, event: OpClosed) -> Iterator[Finding]:
        """`mask.expand_as(w) / (1 - p)`."""
        op = event.op
        values, where = operands(op), nodes(op)
        if sign(op) not in ("*", "/", "+", "-") or len(values) != 2 or len(where) != 2:
            return
        for mine, other in ((0, 1), (1, 0)):
            made = maker(values[mine])
            if made is None or bare(made) not in EXPANDING or only_reader(made) is not op:
                continue
            if _to_a_row(event.function, made):
                continue
            if scalar_like(event.function, values[other], where[other]):
                source = shown(event, made.receiver_node, "view")
                what = (
                    f"the expanded {source} is written out by this arithmetic: done before the expansion "
                    "it costs the small size"
                )
                severity = Severity.HINT if counted(values[mine]) else self.severity
                yield self.finding(event, op.node, what, severity=severity)
                return

    @on(OpClosed, "torch.matmul", "torch.bmm")
    def product(self, event: OpClosed) -> Iterator[Finding]:
        """`(a @ b.T) / temperature`, of all pairs of rows."""
        scaled = _scaled_product(event.function, event.op)
        if scaled is not None:
            what = (
                "the product of all pairs is written twice, the second time with the factor: on one of the operands "
                "the factor costs their size"
            )
            yield self.finding(event, scaled.node, what, severity=Severity.HINT)

    @on(OpClosed, "torch.index_select")
    def rows(self, event: OpClosed) -> Iterator[Finding]:
        """`logprob.index_select(0, rows)[:, k]`."""
        op = event.op
        if dimension(op) == 0 and op.consumers and all(map(_one_column, op.consumers)):
            source = shown(event, op.receiver_node)
            what = f"whole rows of {source} are copied to read one column of each: index rows and column at once"
            yield self.finding(event, op.node, what)

    @on(OpClosed, "torch.interpolate", "module")
    def channels(self, event: OpClosed) -> Iterator[Finding]:
        """`F.interpolate(maps, size)[:, k]`."""
        op = event.op
        if op.name == "module" and not is_module(op, "Upsample"):
            return
        source = input_of(op)
        known = units(source) if source is not None else NONE
        if known.has(1, known.rank or 4):
            return
        if op.consumers and all(map(_one_channel, op.consumers)):
            what = "all channels are resized of which one is read: resizing acts on each alone, so select first"
            yield self.finding(event, op.node, what)

    @on(OpClosed, "torch.linear", "module")
    def positions(self, event: OpClosed) -> Iterator[Finding]:
        """`self.head(x)[:, -1, :]`."""
        op = event.op
        if op.name == "module" and not is_module(op, "Linear"):
            return
        if op.consumers and all(map(_one_position, op.consumers)):
            what = (
                "every position goes through the layer and one of each sequence is read: it acts on each alone, so "
                "select the position first"
            )
            yield self.finding(event, op.node, what)


def _to_a_row(flow: FunctionFlow, made: Op) -> bool:
    """`t.expand(len(batch))`: has the expanded tensor one dimension? It is then a number for each sample."""
    sizes = [a for a in made.arguments if a.name is None]
    return bare(made) == "expand" and len(sizes) == len(made.arguments) == 1 and written_number(flow, sizes[0].node)


def _scaled_product(flow: FunctionFlow, product: Op) -> Op | None:
    """The multiplication by a number that alone reads a product of all pairs, through views; None where a softmax
    follows: that is attention."""
    turned = [v for v in operands(product) if (made := maker(v)) is not None and bare(made) in TURNS]
    current = only_reader(through(product, VIEWS))
    if len(turned) != 1 or current is None or sign(current) not in FACTORS or isinstance(current.node, cst.AugAssign):
        return None
    others = [(v, n) for v, n in zip(operands(current), nodes(current)) if product not in upstream_within(v, VIEWS)]
    if len(others) != 1 or not (scalar_like(flow, *others[0]) or _of_number(others[0][0])):
        return None
    after = closure([current], lambda o: o.uses if o.name != "torch.cross_entropy" else (), 30)
    return None if any(bare(o) == "softmax" or is_module(o, "Softmax") for o in after) else current


def _of_number(value: Value) -> bool:
    """Is it a tensor made of a Python number, as `torch.sqrt(torch.tensor(dim).float())`?"""
    roots = [op for op in upstream_within(value, UNARY) if bare(op) not in UNARY]
    return bool(roots) and all(
        bare(op) == "tensor" and op.arguments and op.arguments[0].value.kind is Kind.HOST for op in roots
    )


def _one_position(user: Op) -> bool:
    """`y[:, k, :]`: is one position read, with all that the layer computes for it?"""
    if user.name not in ("torch.getitem", "torch.index", "item") or not isinstance(user.node, cst.Subscript):
        return False
    kinds = [index_kind(e) for e in user.node.slice]
    return len(kinds) == 3 and kinds[0] == kinds[2] == ":" and kinds[1] in ("int", "one")


def _one_column(user: Op) -> bool:
    """Does the reader take one element of each row?"""
    if bare(user) == "gather":
        return dimension(user) in (1, -1)
    return _one_channel(user)


def _one_channel(user: Op) -> bool:
    if user.name not in ("torch.getitem", "torch.index", "item") or not isinstance(user.node, cst.Subscript):
        return False
    kinds = [index_kind(e) for e in user.node.slice]
    return len(kinds) > 1 and kinds[0] == ":" and kinds[1] in ("int", "other", "one")
