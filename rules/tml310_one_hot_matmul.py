from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.api import Finding, Place, Rule, Severity, on
from torchmemlint.fixes import Plan, replace
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op
from torchmemlint.flow.onehot import one_hot
from torchmemlint.flow.patterns import bare, nodes, operands, text_of, upstream_within
from torchmemlint.flow.values import Value

PRODUCTS = ("torch.matmul", "torch.mm", "torch.bmm", "torch.einsum", "torch.linear", "module")
TABLE_OPS = frozenset({"arith", "mul", "div", "expand_as", "expand", "to", "type_as", "float"})


class OneHotMatmul(Rule):
    """One-hot rows are multiplied with a table, or a whole table is changed, where a few rows are looked up.

    ## What it does
    Reports one-hot rows (`F.one_hot`, `torch.eye(n)[i]`, `scatter_` of ones into zeros) that only a matrix product
    reads; and an embedding whose table is first multiplied or scaled as a whole.

    ## Why it costs memory
    The one-hot matrix has one number for each index and row of the table, and is saved for the backward: measured, 48
    times the peak of indexing. A scaled table is a second table, with a dense gradient of its size.

    ## Known limits
    One-hot rows that something else reads as well are silent.

    ## Fix safety
    A product of one-hot rows with a table becomes `table[index]`. Unsafe: it is right for a table of two dimensions,
    and gradients come as sums in another order. No fix for a scaled table: the lookup has to move before the scaling.

    ## References
    - PyTorch documentation, `torch.nn.functional.embedding`
    """

    code = "TML310"
    name = "one-hot-matmul"
    severity = Severity.WARNING
    words = frozenset({"one_hot", "eye", "scatter_", "scatter", "embedding"})
    roles = frozenset({"module", "forward", "function"})

    @on(OpClosed, *PRODUCTS)
    def product(self, event: OpClosed) -> Iterator[Finding]:
        """`one_hot(i).float() @ table`."""
        op = event.op
        if op.name == "module" and not (op.callee or "").endswith(".Linear"):
            return
        values = [a.value for a in op.arguments] if op.name == "module" else operands(op)
        factors = values[:2] if bare(op) != "einsum" else values[1:3]
        for position, value in enumerate(factors):
            made = one_hot(value)
            if made is not None and _leads_only_to(made, op) and not _adds_rows(op, position):
                what = "a number for each index and row of the table is written to pick rows: index the table instead"
                related = (("multiplied here", Place(event.function.unit, op.node)),)
                yield self.finding(event, made.node, what, related=related, fix=_lookup(made, op))
                return

    @on(OpClosed, "torch.embedding")
    def table(self, event: OpClosed) -> Iterator[Finding]:
        """`F.embedding(words, mask * weight)`."""
        given = event.op.argument(0, "weight")
        if given is None:
            return
        changed = [op for op in upstream_within(given.value, TABLE_OPS) if _of_full_size(op)]
        for op in changed:
            if _only_looked_up(op, {event.op, *changed}):
                what = (
                    "the whole table is written once more to look up a few of its rows: look up first, "
                    "then change the rows"
                )
                yield self.finding(event, op.node, what)
                return


def _lookup(made: Op, product: Op) -> Plan | None:
    """`table[index]` for `one_hot(index, n).float() @ table`."""
    node, index = product.node, made.receiver_node
    sides = [node.left, node.right] if isinstance(node, cst.BinaryOperation) else []
    if isinstance(node, cst.Call) and bare(product) in ("matmul", "mm") and len(node.args) == 2:
        sides = [arg.value for arg in node.args if arg.keyword is None and not arg.star]
    if len(sides) != 2 or index is None or bare(made) != "one_hot" or not _is_cast(sides[0], made.node):
        return None
    plan = replace(node, sides[1], "[", index, "]").titled("index the table")
    return plan.unsafe("right for a table of two dimensions; gradients are summed in another order")


def _is_cast(node: cst.CSTNode, inner: cst.CSTNode) -> bool:
    """Is the expression the inner one, behind methods that cast it?"""
    while node is not inner:
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return False
        node = node.func.value
    return True


def _adds_rows(product: Op, position: int) -> bool:
    """`einsum("nk,nd->kd", one_hot, rows)`: the sums of the rows of each class, which no lookup gives."""
    equation = text_of(next(iter(nodes(product)), None)) if bare(product) == "einsum" else None
    given, arrow, result = (equation or "").replace(" ", "").partition("->")
    letters = given.split(",")[position : position + 1]
    return bool(arrow) and bool(letters) and letters[0][-1:] in result


def _leads_only_to(made: Op, product: Op) -> bool:
    """Does everything that is computed from the one-hot rows end in the product, or in others of its kind?"""
    current = made
    for _ in range(8):
        users = [u for u in current.consumers if u is not current]
        if product in users:
            return all(user.name == product.name for user in users)
        if len(users) != 1:
            return False
        current = users[0]
    return False


def _of_full_size(op: Op) -> bool:
    """Is it arithmetic with a table: with parameters of a module or what is read off one?"""
    return op.name in ("arith", "torch.mul", "torch.div") and any(_is_table(v) for v in operands(op))


def _is_table(value: Value) -> bool:
    return any(
        op.name == "load"
        and op.path is not None
        and "." in op.path
        or op.name == "arith"
        and any(_is_table(v) for v in operands(op))
        for op in value.defs
    )


def _only_looked_up(op: Op, allowed: set[Op]) -> bool:
    return all(
        user in allowed
        or knowledge.operator(bare(user)) is not None
        and user.value.kind is op.value.kind
        and bare(user) in TABLE_OPS
        for user in op.consumers
    )
