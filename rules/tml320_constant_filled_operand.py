from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.flow.consumers import reading
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op
from torchmemlint.flow.onehot import constant
from torchmemlint.flow.patterns import bare, input_of, maker, operands, sign

LIKE = frozenset({"ones_like", "zeros_like", "full_like"})
UNARY = frozenset({"exp", "log", "sigmoid", "tanh", "sqrt"})


class ConstantFilledOperand(Rule):
    """A tensor as large as its neighbour is filled with one number, to be combined with that neighbour.

    ## What it does
    Reports `ones_like(x)`, `zeros_like(x)` or `full_like(x)`, scaled or not, that is only combined with `x` itself, in
    `torch.where`, `torch.max` or arithmetic; as a hint, one that only a function of single elements reads.

    ## Why it costs memory
    The filled tensor, and once more its product with a number, have the size of `x`; autograd may save them. A number
    in its place is broadcast: `torch.where(mask, x, -1e9)`, `x.masked_fill(~mask, -1e9)`.

    ## Known limits
    Only tensors made like another operand of the same operation are reported: others may set the shape. One that is
    filled and used at once is a hint, one that is scaled first, and so written twice, a warning.
    Targets of a loss and tensors that are written are silent.

    ## Fix safety
    No fix: with integers and truth values, a number may change the type of the result.

    ## References
    - PyTorch documentation, `torch.where`, `torch.Tensor.masked_fill`
    """

    code = "TML320"
    name = "constant-filled-operand"
    severity = Severity.WARNING
    words = LIKE

    @on(OpClosed, "torch.ones_like", "torch.zeros_like", "torch.full_like")
    def check(self, event: OpClosed) -> Iterator[Finding]:
        """One finding a filled tensor."""
        made = event.op
        model = input_of(made) or (made.arguments[0].value if made.arguments else None)
        last = _scaled(made)
        found = reading(event.function, last)
        if model is None or found.escapes or not found.readers:
            return
        if all(_combines(user, last, model.defs) for user in found.ops):
            what = "a tensor of the operand's size is filled with one number: the number itself broadcasts"
            severity = Severity.WARNING if last is not made else Severity.HINT
            yield self.finding(event, made.node, what, severity=severity)
        elif (
            all(bare(user) in UNARY or bare(user) == "sum" or sign(user) == "neg" for user in found.ops)
            and len(found.readers) > 0
        ):
            what = "a tensor of one number is computed with element by element: the result is one number, too"
            yield self.finding(event, made.node, what, severity=Severity.HINT)


def _scaled(op: Op) -> Op:
    """The last operation that only scales the filled tensor."""
    current = op
    for _ in range(3):
        users = current.consumers
        if len(users) != 1 or constant(users[0]) is None or users[0] is current:
            return current
        current = users[0]
    return current


def _combines(user: Op, filled: Op, model: tuple[Op, ...]) -> bool:
    """Is the reader an operation on the filled tensor and the one it was made like?"""
    combining = bare(user) in ("where", "max", "min", "maximum", "minimum") or sign(user) in ("+", "-", "*", "/")
    if not combining or user.carried or user.loops != filled.loops:
        return False
    others = [v for v in operands(user) if maker(v) is not filled]
    return bool(model) and any(v.defs == model for v in others)
