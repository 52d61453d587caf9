from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchmemlint.api import Finding, Rule, Severity, on
from torchmemlint.fixes import Plan, set_keyword
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op
from torchmemlint.flow.layout import index_kind
from torchmemlint.flow.patterns import number, text_of


class FullMatricesUnread(Rule):
    """A decomposition computes full square bases of which only the leading part is used.

    ## What it does
    Reports `torch.linalg.svd` with `full_matrices` left on, and `torch.linalg.qr` with `mode="complete"`, where only
    leading rows or columns of the bases are read, or none at all.

    ## Why it costs memory
    For an m × n matrix with m much larger than n, the full basis is m × m where m × n is enough.

    ## Known limits
    Whole bases that are used, rows from the end (a null space) and bases that are handed on: silent.

    ## Fix safety
    Unsafe: a slice longer than the smaller side gets shorter, and the leading vectors may differ in sign or rounding.

    ## References
    - PyTorch documentation, `torch.linalg.svd`
    """

    code = "TML316"
    name = "full-matrices-unread"
    severity = Severity.WARNING
    words = frozenset({"svd", "qr"})

    @on(OpClosed, "torch.linalg.svd")
    def decomposed(self, event: OpClosed) -> Iterator[Finding]:
        """`U, S, Vh = torch.linalg.svd(x); U[:, :k]`."""
        op = event.op
        if any(a.name not in (None, "full_matrices") or a.value.const is not True for a in op.arguments):
            return
        parts = _parts(op)
        if len(parts) != 3 or _whole(op, parts):
            return
        left, values, right = parts
        if not (_leading(left, 1) and _leading(right, 0)):
            return
        if not left.consumers and not right.consumers:
            if values.consumers:
                what = "only the singular values are read: `torch.linalg.svdvals` makes no bases"
                yield self.finding(event, op.node, what)
            return
        what = "full square bases are computed of which leading vectors are read: `full_matrices=False` makes no more"
        yield self.finding(event, op.node, what, fix=_reduced(op, "full_matrices", "False"))

    @on(OpClosed, "torch.svd")
    def deprecated(self, event: OpClosed) -> Iterator[Finding]:
        """`U, S, V = torch.svd(x, some=False); U[:, :k]`."""
        op, parts = event.op, _parts(event.op)
        some = op.argument(0, "some")
        if some is None or some.value.const is not False or len(parts) != 3 or _whole(op, parts):
            return
        if _leading(parts[0], 1) and _leading(parts[2], 1) and (parts[0].consumers or parts[2].consumers):
            what = "full square bases are computed of which leading vectors are read: `some=True` makes no more"
            plan = _reduced(op, "some", "True") if some.name is not None else None
            yield self.finding(event, op.node, what, fix=plan)

    @on(OpClosed, "torch.linalg.qr")
    def complete(self, event: OpClosed) -> Iterator[Finding]:
        """`torch.linalg.qr(x, mode="complete")`."""
        op = event.op
        mode = op.argument(0, "mode")
        parts = _parts(op)
        if mode is None or text_of(mode.node) != "complete" or len(parts) != 2 or _whole(op, parts):
            return
        if _leading(parts[0], 1) and (parts[0].consumers or parts[1].consumers):
            what = (
                "the complete square basis is computed of which leading columns are read: the reduced "
                "mode makes no more"
            )
            plan = _reduced(op, "mode", '"reduced"') if mode.name is not None else None
            yield self.finding(event, op.node, what, fix=plan)


def _parts(op: Op) -> list[Op]:
    """The operations of the single results."""
    return [user for user in op.uses if user.node is op.node and user.name.startswith(op.name + ".")]


def _whole(op: Op, parts: list[Op]) -> bool:
    """Is the tuple of results used as one?"""
    return any(user not in parts and user.name not in ("bind", "del") for user in op.uses)


def _leading(part: Op, dimension: int) -> bool:
    """Is every reader a slice from the start along `dimension`?"""
    return all(_leading_slice(user, dimension) for user in part.consumers)


def _leading_slice(user: Op, dimension: int) -> bool:
    if not isinstance(user.node, cst.Subscript) or user.name not in ("torch.getitem", "torch.index"):
        return False
    kinds = [index_kind(e) for e in user.node.slice]
    while len(kinds) > dimension + 1 and kinds[-1] == ":" and kinds[0] != "...":
        kinds.pop()
    if kinds and kinds[0] == "..." and dimension == 1:
        at = len(kinds) - 1
    elif len(kinds) == dimension + 1 and all(k == ":" for k in kinds[:-1]):
        at = dimension
    else:
        return False
    index = user.node.slice[at].slice
    if not isinstance(index, cst.Slice) or index.step is not None or index.upper is None:
        return isinstance(index, cst.Index) and number(index.value) in (0, 1, 2, 3)
    lower, upper = number(index.lower), number(index.upper)
    return (index.lower is None or lower is not None and lower >= 0) and not (upper is not None and upper < 0)


def _reduced(op: Op, name: str, value: str) -> Plan | None:
    reason = "a slice longer than the smaller side gets shorter, and vectors may differ in sign"
    plan = set_keyword(op.node, name, value)
    return Plan("compute the leading vectors only", plan.steps, False, reason)
