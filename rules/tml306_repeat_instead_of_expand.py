from __future__ import annotations

import math
from collections.abc import Iterator

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, combine, rename_attribute, replace
from torchmemlint.flow.consumers import Reading, overwritten, reading
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op, closure
from torchmemlint.flow.layout import sizes, units
from torchmemlint.flow.patterns import bare, dimension, maker, nodes, number
from torchmemlint.flow.values import Kind, Value
from torchmemlint.index.marks import REPEATS

from ._copies import place, shown

ATTENTION = "torch.scaled_dot_product_attention"
FLATTENING = frozenset({"view", "view_as", "reshape", "flatten"})  # what is expanded has no view of fewer dimensions
FACTORIES = frozenset({"eye", "ones", "zeros", "full", "rand", "randn"})
SMALL = 1024  # elements
HALF = frozenset({"bfloat16", "float16", "half"})
SHARED = "the result then shares the memory of what it repeats, and sums of gradients may round differently"


class RepeatInsteadOfExpand(Rule):
    """A tensor is copied n times for operators that would broadcast it, or for attention over grouped heads.

    ## What it does
    Reports `repeat`, `tile`, `repeat_interleave` and `torch.stack([x] * n)` along dimensions of size one when every
    reader takes expanded tensors; and keys or values repeated (also by `expand` and `reshape`) for
    `scaled_dot_product_attention`, which shares heads itself with `enable_gqa=True`. A whole input repeated for a
    forward pass is a hint, and so are two copies of the same rows joined to all pairs.

    ## Why it costs memory
    `expand` sets a stride to zero and allocates nothing; `repeat` writes n copies, and autograd may save them. An
    elementwise product of a repeated operand was measured at twice the peak in inference. Eight-fold repeated keys and
    values in half precision: 12 MiB against 4 in inference, 36 against 29 in training.

    ## Known limits
    Whether a dimension has size one is known from `unsqueeze`, `[:, None]`, `keepdim=True` and literal sizes; elsewhere
    the rule hints or is silent. Grouped heads are a hint unless half precision is known: in float32 `enable_gqa=True`
    falls back to scores written out, measured 13 times worse than the copies. Repeated tensors that are written in
    place, viewed or handed on are silent.

    ## Fix safety
    Unsafe: values are equal, but the result shares memory, and gradients may be summed in another order.

    ## References
    - PyTorch documentation, `torch.Tensor.expand`, `scaled_dot_product_attention`
    """

    code = "TML306"
    name = "repeat-instead-of-expand"
    severity = Severity.WARNING
    words = frozenset({"repeat", "tile", "repeat_interleave", "expand", "expand_as", "broadcast_to", REPEATS})
    needs = (frozenset({"repeat", "tile", "repeat_interleave", "stack", "cat", "reshape", "flatten"}),)
    roles = frozenset({"module", "forward", "function"})

    @on(OpClosed, "torch.repeat", "torch.tile")
    def repeated(self, event: OpClosed) -> Iterator[Finding]:
        """`x.repeat(n, 1, 1)`."""
        op = event.op
        counts = sizes(op.arguments)
        if counts is None or op.receiver is None or any(isinstance(n, cst.StarredElement) for n in counts):
            return
        stretched = [i for i, node in enumerate(counts) if number(node) != 1]
        if not stretched or all(number(counts[i]) == 0 for i in stretched):
            return
        known = units(op.receiver)
        sure = all(known.has(i, len(counts)) for i in stretched)
        found = reading(event.function, op, returns=True, stop=FLATTENING)
        if overwritten(op.receiver) or not found.readers and not found.escapes:
            return
        if _read_expanded(found):
            sure = sure and not _counted(op.receiver)
            yield self._finding(event, sure, _expanded(op, counts, stretched) if sure else None)
        elif stretched == [0] and len(counts) > 1 and _fed_to_forward(found) and not overwritten(op.value):
            what = (
                f"every row repeats {shown(event, op.receiver_node)}: a forward on one row gives the "
                "same, n times smaller"
            )
            yield self.finding(event, place(op), what, severity=Severity.HINT)

    @on(OpClosed, "torch.repeat_interleave")
    def interleaved(self, event: OpClosed) -> Iterator[Finding]:
        """`k.repeat_interleave(n, dim=1)` for attention or along a dimension of size one."""
        op = event.op
        if op.receiver is None or len(op.arguments) < 2 or overwritten(op.receiver):
            return
        yield from self._grouped(event, event.op)
        dim, found = dimension(op, 1), reading(event.function, op, stop=FLATTENING)
        known = units(op.receiver)
        if dim is not None and (dim in known.left or dim in known.right) and _read_expanded(found):
            yield self._finding(event, True, None)

    @on(OpClosed, "torch.stack", "torch.cat")
    def stacked(self, event: OpClosed) -> Iterator[Finding]:
        """`torch.stack([x] * n)`, `torch.cat([x[None]] * n)`."""
        op = event.op
        if bare(op) == "cat" and (pair := _all_pairs(op)) is not None:
            what = (
                "every row is written out beside every other: apply the matrix to the rows and add the two results, "
                "which broadcast"
            )
            yield self.finding(event, place(pair), what, severity=Severity.HINT)
            return
        one = _multiplied(op.receiver)
        if one is not None and bare(op) == "cat" and not units(one).has(dimension(op, 0) or 0, 0):
            return
        found = reading(event.function, op, stop=FLATTENING)
        if one is None or not _read_expanded(found) or overwritten(one):
            return
        yield self._finding(event, one.kind is Kind.TENSOR, None)

    @on(OpClosed, "torch.reshape", "torch.flatten")
    def reshaped(self, event: OpClosed) -> Iterator[Finding]:
        """`x[:, :, None].expand(…).reshape(…)`: the reshape has to copy what the expand shares."""
        made = maker(event.op.receiver) if event.op.receiver is not None else None
        if made is None or bare(made) not in ("expand", "broadcast_to", "expand_as") or made.receiver is None:
            return
        if units(made.receiver):
            yield from self._grouped(event, event.op)

    def _grouped(self, event: OpClosed, op: Op) -> Iterator[Finding]:
        """Keys or values repeated for attention."""
        found = reading(event.function, op, returns=True)
        heads = [user for user, _ in found.readers if user.name == ATTENTION]
        if not heads:
            if event.op.name != "torch.repeat_interleave":
                what = "`reshape` of an expanded tensor copies every repeated element"
                yield self.finding(event, place(op), what, severity=Severity.HINT)
            return
        if len(heads) != len(found.readers) or any(a.name == "enable_gqa" for u in heads for a in u.arguments):
            return
        what = (
            "keys or values are copied once for each query head of their group: in half precision `enable_gqa=True` "
            "shares them"
        )
        narrow = op.value.dtype in HALF and not found.escapes
        yield self.finding(event, place(op), what, severity=None if narrow else Severity.HINT)

    def _finding(self, event: OpClosed, sure: bool, plan: Plan | None) -> Finding:
        source = shown(event, nodes(event.op)[0] if nodes(event.op) else None)
        what = f"n copies of {source} are written for operators that broadcast: `expand` shares its memory"
        return self.finding(event, place(event.op), what, severity=None if sure else Severity.HINT, fix=plan)


def _counted(value: Value) -> bool:
    """Is it a range of numbers, or a tensor of a small size that is written down, which takes a few bytes?"""
    behind = closure(value.defs, lambda o: o.inputs if o.receiver else (), 10)
    return any(bare(op) == "arange" or bare(op) in FACTORIES and _few_elements(op) for op in behind)


def _few_elements(op: Op) -> bool:
    """`torch.eye(4)`, `torch.ones(3, 3)`"""
    given = [a.value.elements if a.value.kind is Kind.CONTAINER else (a.value,) for a in op.arguments if a.name is None]
    counts = [v.const for values in given if isinstance(values, tuple) for v in values]
    known = [count for count in counts if isinstance(count, int)]
    return bool(known) and len(known) == len(counts) and math.prod(known) <= (SMALL if bare(op) != "eye" else 32)


def _read_expanded(found: Reading) -> bool:
    """Do all readers take stride 0?"""
    return (
        not found.escapes
        and bool(found.readers)
        and all(knowledge.reads_expanded(bare(user) or user.name) or _masks(user, op) for user, op in found.readers)
    )


def _masks(user: Op, op: Op) -> bool:
    """Is it the mask of an attention, which broadcasts over heads and queries?"""
    if user.name != ATTENTION:
        return False
    mask, query = user.argument(2, "attn_mask"), user.argument(None, "query")
    others = [user.receiver if query is None else query.value]
    others += [a.value if a is not None else None for a in (user.argument(0, "key"), user.argument(1, "value"))]
    return mask is not None and op in mask.value.defs and all(v is not None and op not in v.defs for v in others)


def _fed_to_forward(found: Reading) -> bool:
    """Does it end in a forward pass, possibly after conversions?"""
    plain = frozenset({"to", "cuda", "type", "float", "half", "module", "call", "?call", "arith"})
    return any((bare(u) or u.name) in plain for u in found.ops) or found.escapes


def _expanded(op: Op, counts: list[cst.BaseExpression | cst.StarredElement], stretched: list[int]) -> Plan | None:
    """`x.repeat(b, 1, 1)` as `x.expand(b, -1, -1)`."""
    if op.name != "torch.repeat" or op.receiver_node is None or op.node is op.receiver_node:
        return None
    if not isinstance(op.node, cst.Call):
        return None
    kept = [node for position, node in enumerate(counts) if position not in stretched]
    plans = [rename_attribute(op.node.func, "expand"), *(replace(node, "-1") for node in kept)]
    return combine(plans, "expand instead").unsafe(SHARED)


def _multiplied(value: Value | None) -> Value | None:
    """The one member of a list that `[x] * n` repeats."""
    made = maker(value) if value is not None else None
    if made is None or not isinstance(made.node, cst.BinaryOperation):
        return None
    lists = [op for op in made.inputs if op.name in ("literal.list", "literal.tuple")]
    members = lists[0].value.elements if len(lists) == 1 else None
    return members[0] if isinstance(members, tuple) and len(members) == 1 else None


def _all_pairs(op: Op) -> Op | None:
    """`cat([x.repeat_interleave(n, 0), x.repeat(n, 1)])`: the first of the two copies of one tensor."""
    (joined,) = op.receiver.defs if op.receiver is not None and len(op.receiver.defs) == 1 else (None,)
    copies = list(joined.inputs) if joined is not None and joined.name in ("literal.list", "literal.tuple") else []
    if len(copies) != 2 or {bare(copy) for copy in copies} != {"repeat_interleave", "repeat"}:
        return None
    first, second = (copy.receiver.defs if copy.receiver is not None else () for copy in copies)
    return copies[0] if first and first == second else None
