from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, unwrap_call
from torchmemlint.flow.consumers import Reading, counted, overwritten, reading
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op, closure, fact
from torchmemlint.flow.handed import runs_with_grad
from torchmemlint.flow.layout import sizes, units
from torchmemlint.flow.patterns import bare, in_place, input_of, is_module, maker, number
from torchmemlint.flow.remarks import explained
from torchmemlint.flow.strides import dense_rows
from torchmemlint.flow.values import Fact, Layout

from ._copies import method

CONVERTING = frozenset("to cpu cuda float half double bfloat16 type type_as".split())  # the strides stay

FLATTENING = frozenset({"view", "view_as", "reshape", "flatten"})


class ContiguousCopiesView(Rule):
    """`.contiguous()` copies a strided view although every consumer takes strides.

    ## What it does
    Reports `.contiguous()` on a sliced, transposed, permuted or expanded view when each operator that reads the result
    works on strided tensors, and neither the copy nor its source is written afterwards; and of logits whose last
    position is cut off before `cross_entropy`, where shifting the labels needs no copy (a hint where grad may be on: in
    a training step the peak lies in the loss's backward and does not move).

    ## Why it costs memory
    One whole extra copy of the view is allocated, and of an expanded view one as large as the expansion: measured, 17
    times the peak before a batched product in inference, twice before elementwise operators, 1.5 times for shifted
    logits.

    ## Known limits
    Consumers that are not known to take strides (custom kernels, collectives, `view`, code out of sight) keep the
    rule silent. Operators that copy strided operands for themselves, and products of four dimensions, which do so
    too, are hints at most, and so is a copy that broadcasts against something larger. A contiguous operand can be
    faster in a matrix product that runs often. Fused attention is fed by strided heads, but not by a last dimension
    with gaps, where the copy saves all the scores: measured on an H200, 128 instead of 4672 MiB for 8 heads of 4096
    positions. Where the channels of images are put in front of the pixels, the copy sets the memory format that a
    network then runs in: a hint. A call that a comment beside it names is left alone.

    ## Fix safety
    Unsafe: the values are equal, but results may have other strides or round differently in another kernel.

    ## References
    - PyTorch documentation, "Tensor Views"
    """

    code = "TML302"
    name = "contiguous-copies-view"
    severity = Severity.WARNING

    @on(OpClosed, "torch.contiguous")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a call."""
        op = event.op
        if op.receiver is None or op.arguments or not method(op):
            return
        if op.receiver.layout is not Layout.STRIDED or overwritten(op.receiver):
            return
        found = reading(event.function, op, stop=FLATTENING, through=CONVERTING)
        if found.escapes or not found.readers:
            return
        logits = all(map(_into_cross_entropy, found.ops))
        severity = _severity(op, found) if not logits else Severity.WARNING
        if severity is None or explained(op):
            return
        shown = event.function.unit.text(op.receiver_node) if op.receiver_node is not None else "the view"
        if logits:
            if not _sliced(op):
                return  # one step of them: nothing is shifted, and the copy is small
            message = f"one more copy of `{shown}`: shift the labels instead of the logits, which stay as they are"
            training = runs_with_grad(event.function, op)
            yield self.finding(event, op.node, message, severity=Severity.HINT if training else severity)
            return
        message = f"one more copy of `{shown}`: every operator that reads it takes strided tensors"
        reason = "results may have other strides or round differently"
        plan = Plan("remove the call", unwrap_call(op.node).steps, False, reason)
        yield self.finding(event, op.node, message, severity=severity, fix=plan)


def _sliced(op: Op) -> bool:
    """Is the view no subscript with an index, which leaves one of many?"""
    made = maker(op.receiver) if op.receiver is not None else None
    node = made.node if made is not None else None
    parts = [part.slice for part in node.slice] if isinstance(node, cst.Subscript) else []
    return not any(isinstance(part, cst.Index) and not isinstance(part.value, cst.Ellipsis) for part in parts)


def _severity(op: Op, found: Reading) -> Severity | None:
    """How sure the waste is, by who reads the copy; None: somebody may need it."""
    names = [bare(user) or user.name for user in found.ops]
    if any(in_place(user) for user in found.ops) or any(name in FLATTENING | {"contiguous", "clone"} for name in names):
        return None
    if any(knowledge.accepts_strides(name) != "yes" for name in names):
        return None
    if any(map(_viewed_later, found.ops)):
        return None
    if "scaled_dot_product_attention" in names and not dense_rows(op.receiver or op.value):
        return None  # the fused kernels do not take it, and all scores are written out
    if "linear" in names and any(
        op in (input_of(user) or op.value).defs for user in found.ops if bare(user) == "linear"
    ):
        return None  # it copies a strided input itself
    if op.receiver is not None and counted(op.receiver) or _channels_moved(op):
        return Severity.HINT
    plain = all(knowledge.reads_expanded(name) or name in ("einsum", "mm", "addmm") for name in names)
    if not plain or "matmul" in names and not _three_dimensional(op):
        return Severity.HINT
    return Severity.HINT if all(units(current.value) for _, current in found.readers) else Severity.WARNING


def _channels_moved(op: Op) -> bool:
    """Are the channels of images put in front of the pixels, from where they set the format that a network runs in?"""
    made = maker(op.receiver) if op.receiver is not None else None
    if made is None or bare(made) != "permute" or fact(made.value) is Fact.YES:
        return False  # with a graph it is nothing that is loaded
    order = [number(n) for n in sizes(made.arguments) or () if isinstance(n, cst.BaseExpression)]
    return order in ([2, 0, 1], [0, 3, 1, 2])


def _viewed_later(reader: Op) -> bool:
    """Is a result with the strides of the tensor, perhaps computed further, read by an operator that takes no gaps?"""
    passing = closure([reader], lambda o: [u for u in o.uses if knowledge.elementwise(bare(u) or u.name)])
    results = [op for op in passing if knowledge.elementwise(bare(op) or op.name)]
    return any(
        knowledge.accepts_strides(bare(u) or u.name) == "no" or bare(u) == "contiguous"
        for op in results
        for u in op.consumers
    )


def _three_dimensional(op: Op) -> bool:
    """Has it at most three dimensions? A product of four has to flatten those of the batch by a copy of its own."""
    made = maker(op.receiver) if op.receiver is not None else None
    given = sizes(made.arguments) if made is not None else None
    return made is not None and (bare(made) in ("t", "T") or bare(made) == "permute" and 0 < len(given or ()) <= 3)


def _into_cross_entropy(user: Op) -> bool:
    """Is the reader a flattening whose only use is as the logits of a cross entropy?"""
    if bare(user) not in FLATTENING or not user.consumers:
        return False
    losses = [u for u in user.consumers if u.name == "torch.cross_entropy" or is_module(u, "CrossEntropyLoss")]
    return losses == user.consumers and all(_first(u, user) for u in losses)


def _first(loss: Op, user: Op) -> bool:
    value = input_of(loss)
    return value is not None and user in value.defs
