from __future__ import annotations

from collections.abc import Iterator

from torchmemlint.api import Finding, Place, Rule, Severity, on
from torchmemlint.fixes import Plan, replace
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op
from torchmemlint.flow.layout import EXPANDING, broadcast_against, single, units
from torchmemlint.flow.pairs import handed_pairs
from torchmemlint.flow.patterns import back, bare, maker, number, only_reader, operands, sign
from torchmemlint.flow.values import Value
from torchmemlint.index.marks import NEW_AXIS

EVEN = frozenset({"pow", "square", "abs", "norm"})
SUMS = frozenset({"sum", "mean", "norm", "linalg.norm", "linalg.vector_norm"})


class MaterialisedPairwise(Rule):
    """All pairs of rows are subtracted or multiplied into one tensor, only to be summed away.

    ## What it does
    Reports (n, 1, d) − (1, m, d) whose squares or absolute values are summed over a dimension (`torch.cdist` does it),
    (n, 1, d) · (1, m, d) summed over a dimension (a matrix product), `cosine_similarity` and `pairwise_distance` of
    such operands, also where a function of the project is handed them; as a hint, a product with an expanded factor
    that is summed.

    ## Why it costs memory
    The difference has d times the elements of the result, its square once more, and autograd saves them: measured, 62
    times the peak of `cdist` in inference, 26 times in training; 33 times that of the product, 96 times for the cosine.

    ## Known limits
    Which dimensions have size one is known from `unsqueeze`, `[:, None]` and literal sizes; elsewhere silent. With
    two or three coordinates the waste is as small as they are few.

    ## Fix safety
    Unsafe: results are equal up to rounding; the gradient of `cdist` at equal rows is zero where a square root's is not
    finite.

    ## References
    - PyTorch documentation, `torch.cdist`
    """

    code = "TML309"
    name = "materialised-pairwise"
    severity = Severity.WARNING
    words = frozenset({"sum", "mean", "norm", "vector_norm", "cosine_similarity", "pairwise_distance"})
    roles = frozenset({"module", "forward", "function"})
    needs = (frozenset({NEW_AXIS, *"unsqueeze expand expand_as broadcast_to newaxis view reshape".split()}),)

    @on(OpClosed, "arith", "torch.sub", "torch.mul")
    def computed(self, event: OpClosed) -> Iterator[Finding]:
        """A difference or product of all pairs."""
        op = event.op
        kind, values = _kind(op), operands(op)
        if len(values) != 2:
            return
        summed = _sum_of(op)
        if summed is None:
            return
        if _paired(values) and not _over_unit(summed, values):
            yield self._pairs(event, kind, values)
        elif kind == "*" and any(_expanded(v) for v in values):
            what = (
                "an expanded factor is multiplied into a tensor of full size that is summed: a matrix "
                "product stores no such tensor"
            )
            yield self.finding(event, op.node, what, severity=Severity.HINT)

    @on(OpClosed, "call")
    def handed(self, event: OpClosed) -> Iterator[Finding]:
        """`energy(a[:, None], b[None])`, where the function multiplies the two and sums."""
        for op, values in handed_pairs(event.function, event.op):
            kind = _kind(op)
            summed = _sum_of(op)
            if summed is not None and _paired(values) and not _over_unit(summed, values):
                related = (("written out here", Place(op.unit, op.node)),)
                yield self.finding(event, event.op.node, _what(kind), related=related)
                return

    @on(OpClosed, "torch.cosine_similarity", "torch.pairwise_distance")
    def called(self, event: OpClosed) -> Iterator[Finding]:
        """`cosine_similarity(a[:, None], b[None])`."""
        op = event.op
        values = operands(op)
        if len(values) < 2 or not broadcast_against(units(values[0]), units(values[1])):
            return
        instead = "normalised rows and a matrix product" if bare(op) == "cosine_similarity" else "`torch.cdist`"
        what = f"every pair of rows is written out before it is reduced: {instead} needs only the result's size"
        yield self.finding(event, op.node, what)

    def _pairs(self, event: OpClosed, kind: str | None, values: list[Value]) -> Finding:
        return self.finding(event, event.op.node, _what(kind), fix=_fix(event.op, values) if kind == "-" else None)


def _what(kind: str | None) -> str:
    instead = "`torch.cdist`" if kind == "-" else "a matrix product"
    return f"every pair of rows is written out and then summed: {instead} needs only the result's size"


def _kind(op: Op) -> str | None:
    kind = sign(op)
    return kind if kind in ("-", "*") else None


def _sum_of(op: Op) -> Op | None:
    """What sums the differences or products over a dimension."""
    kind = _kind(op)
    return _difference_summed(op) if kind == "-" else _summed(op) if kind == "*" else None


def _paired(values: list[Value]) -> bool:
    return broadcast_against(single(values[0]), single(values[1]))


def _summed(op: Op) -> Op | None:
    """The sum that alone reads the operation's result."""
    user = only_reader(op)
    return user if user is not None and bare(user) in SUMS and user.receiver is not None else None


def _difference_summed(op: Op) -> Op | None:
    """The sum of the difference's squares or absolute values."""
    user = only_reader(op)
    if user is None:
        return None
    if bare(user) in ("norm", "linalg.norm", "linalg.vector_norm"):
        return user
    values = operands(user)
    squared = sign(user) == "**" or sign(user) == "*" and len(values) == 2 and values[0].defs == values[1].defs
    if bare(user) in EVEN or user.name == "arith" and squared:
        return _summed(user)
    return None


def _over_unit(summed: Op, values: list[Value]) -> bool:
    """Is the dimension that is summed one that a side is stretched along? Then nothing pairwise is left."""
    axis = summed.argument(0, "dim") if bare(summed) not in ("norm", "linalg.norm") else summed.argument(1, "dim")
    dim = number(axis.node) if axis is not None else None
    if not isinstance(dim, int):
        return True
    known = [single(v) for v in values]
    return any(dim in k.left or dim in k.right for k in known)


def _expanded(value: Value) -> bool:
    made = maker(value)
    return made is not None and bare(made) in EXPANDING


def _fix(op: Op, values: list[Value]) -> Plan | None:
    """`(a.unsqueeze(1) - b.unsqueeze(0)).norm(dim=-1)` as `torch.cdist(a, b)`."""
    user = only_reader(op)
    if user is None or user.name != "torch.norm" or user.receiver_node is not op.node:
        return None
    if any(a.name not in ("dim", "p") or a.name == "p" and number(a.node) != 2 for a in user.arguments):
        return None
    makers = [back(v, frozenset()) for v in values]
    first, second = makers
    if first is None or second is None or bare(first) != "unsqueeze" or bare(second) != "unsqueeze":
        return None
    dims = [number(m.arguments[0].node) if m.arguments else None for m in (first, second)]
    if dims not in ([1, 0], [-2, -3]) or first.receiver_node is None or second.receiver_node is None:
        return None
    plan = replace(user.node, "torch.cdist(", first.receiver_node, ", ", second.receiver_node, ")")
    return Plan("compute the distances with cdist", plan.steps, False, "results are equal up to rounding")
