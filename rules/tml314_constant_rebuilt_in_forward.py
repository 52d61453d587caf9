from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.patterns import back, flag, maker, number
from torchmemlint.flow.rebuilt import fixed_size, in_forward, square_mask

from ._registered import registered

VIEWS = frozenset({"view", "reshape", "unsqueeze", "to", "bool", "float"})


class ConstantRebuiltInForward(Rule):
    """A mask or table that depends on nothing but the configuration is built anew in each forward pass.

    ## What it does
    Reports `tril`, `triu`, `eye`, and masks over them, of a size known from literals and attributes, that a `forward`
    makes; and a length² mask registered as a persistent buffer of floats in each layer.

    ## Why it costs memory
    Each layer and call allocates the tensor again, and autograd keeps it where it is an operand: a mask rebuilt in each
    layer was measured at 1.16 times the peak of one kept as a buffer. A float mask takes four bytes where truth takes
    one, and a persistent buffer is in every checkpoint.

    ## Known limits
    All findings are hints: where nothing saves the tensor, rebuilding it costs time and no memory. Sizes that depend on
    the input are silent.

    ## Fix safety
    What a forward builds of literals, and of attributes that the constructor alone sets, becomes a non-persistent
    buffer that the constructor registers. Unsafe: a buffer moves with its module and is converted with it, so a
    module that stays on the CPU while its input does not, or one in half precision, sees another constant than
    before. Masks that are registered already are left: their readers have to change.

    ## References
    - PyTorch documentation, `torch.nn.Module.register_buffer`
    """

    code = "TML314"
    name = "constant-rebuilt-in-forward"
    severity = Severity.HINT
    words = frozenset({"tril", "triu", "eye", "arange", "linspace", "logspace", "tensor", "register_buffer"})

    @on(OpClosed, "torch.tril", "torch.triu", "torch.eye", "torch.arange", "torch.linspace", "torch.logspace")
    def rebuilt(self, event: OpClosed) -> Iterator[Finding]:
        """`torch.tril(torch.ones(self.n, self.n))` in a forward."""
        op = event.op
        if not in_forward(event.function):
            return
        triangle = op.name in ("torch.tril", "torch.triu")
        source = op if not triangle else maker(op.receiver) if op.receiver is not None else None
        if source is None or not fixed_size(event.function, source):
            return
        what = (
            "each call allocates this constant anew; a buffer made in the constructor is allocated once "
            "for all layers and calls"
        )
        yield self.finding(event, op.node, what, fix=registered(event.function, op))

    @on(OpClosed, "torch.tensor")
    def literal(self, event: OpClosed) -> Iterator[Finding]:
        """`torch.tensor([[-1.0, 0.0, 1.0], …])` in a forward: copied from the host in each call."""
        op = event.op
        given = op.argument(0, "data")
        if given is None or not _table(given.node) or not in_forward(event.function):
            return
        what = "each call makes this table anew and copies it from the host: a buffer made in the constructor is there"
        yield self.finding(event, op.node, what, fix=registered(event.function, op))

    @on(OpClosed, "register_buffer")
    def registered(self, event: OpClosed) -> Iterator[Finding]:
        """`register_buffer("mask", torch.tril(torch.ones(n, n)))`."""
        op = event.op
        given = op.argument(1, "tensor")
        made = back(given.value, VIEWS) if given is not None else None
        if made is None or not square_mask(made) or flag(op, "persistent") is False:
            return
        what = (
            "a float for each pair of positions is kept in every layer and checkpoint: a shared, non-persistent mask "
            "of truth values takes a quarter of one"
        )
        yield self.finding(event, op.node, what)


def _table(node: cst.BaseExpression) -> bool:
    """Is it a nested list of numbers?"""
    if not isinstance(node, (cst.List, cst.Tuple)) or len(node.elements) < 2:
        return False
    return all(number(e.value) is not None or _table(e.value) for e in node.elements)
