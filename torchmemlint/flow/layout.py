"""Dimensions that are known to have one element: by `unsqueeze`, `[:, None]`, `keepdim=True`, `view(…, 1)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Argument, Op
from torchmemlint.flow.lean import same_code
from torchmemlint.flow.patterns import bare, maker, number
from torchmemlint.flow.values import Kind, Value

DEPTH = 8  # how far back the makers of a view are followed
SAME_SHAPE = frozenset(
    """detach clone contiguous to type type_as float double half bfloat16 cpu cuda long int bool data requires_grad_ exp
    log sqrt rsqrt abs neg sigmoid tanh relu square""".split()
)
EXPANDING = frozenset({"expand", "expand_as", "broadcast_to"})
FACTORIES = frozenset({"zeros", "ones", "randn", "rand", "empty", "full"})


@dataclass(frozen=True)
class Units:
    """Dimensions of size one, counted from the left (`left`, from 0) and from the right (`right`, from -1)."""

    left: frozenset[int] = frozenset()
    right: frozenset[int] = frozenset()
    rank: int | None = None

    def __bool__(self) -> bool:
        return bool(self.left or self.right)

    def has(self, position: int, rank: int) -> bool:
        """Is dimension `position` of a tensor of `rank` dimensions, which this one is aligned with, known to be one?"""
        if position - rank in self.right:
            return True
        if self.rank is not None:
            return position - rank + self.rank in self.left
        return position in self.left


NONE = Units()


def _known(left: set[int], rank: int | None, right: set[int] | None = None) -> Units:
    right = set(right or ())
    if rank is not None:
        left, right = left | {r + rank for r in right if r + rank >= 0}, right | {p - rank for p in left}
    return Units(frozenset(left), frozenset(right), rank)


def units(value: Value, depth: int = DEPTH) -> Units:
    """The dimensions of a value that surely have one element."""
    op = maker(value)
    if op is None or depth == 0:
        return NONE
    name = bare(op)
    if op.name in ("torch.getitem", "item"):
        return _indexed(op, depth)
    if name == "unsqueeze":
        return _unsqueezed(op, depth)
    if name in ("view", "reshape") or name in FACTORIES:
        return _shaped(op.arguments)
    if name in ("permute", "transpose", "swapaxes"):
        return _turned(op, depth)
    if name == "multinomial" and (drawn := op.argument(0, "num_samples")) and number(drawn.node) == 1:
        return _known(set(), None, {-1})
    if name in SAME_SHAPE or op.name in ("arith", "?call") and _scaled(op):
        return units(_base(op), depth - 1)
    if any(a.name == "keepdim" and a.node is not None and dotted(a.node) == "True" for a in op.arguments):
        return _kept(op)
    return NONE


def single(value: Value) -> Units:
    """The dimensions that have one element, or had before the tensor was expanded along them."""
    op = maker(value)
    if op is None or bare(op) not in EXPANDING or op.receiver is None:
        return units(value)
    base = units(op.receiver)
    if base.rank is None:
        return base
    return Units(frozenset(), base.right)  # an expansion may add dimensions in front


def _base(op: Op) -> Value:
    if op.receiver is not None:
        return op.receiver
    return next((a.value for a in op.arguments if a.value.defs and not _setting(a.value)), op.value)


def _scaled(op: Op) -> bool:
    """Arithmetic of one tensor with numbers, or a factor that an object holds: the shape stays."""
    others = [a.value for a in op.arguments if a.value.defs and not _setting(a.value)]
    return op.name == "arith" and len(others) + (op.receiver is not None) == 1


def _setting(value: Value) -> bool:
    """`self.scale`, of which nothing says that it is a tensor."""
    return value.kind in (Kind.UNKNOWN, Kind.HOST) and all(op.name == "load" for op in value.defs)


def _turned(op: Op, depth: int) -> Units:
    """`permute` and `transpose` of a tensor of known rank."""
    base = units(op.receiver, depth - 1) if op.receiver is not None else NONE
    given = [number(node) if isinstance(node, cst.BaseExpression) else None for node in sizes(op.arguments) or ()]
    order = [int(n) % base.rank for n in given if isinstance(n, int)] if base.rank else []
    if base.rank is None or len(order) != len(given):
        return NONE
    if bare(op) == "transpose" and len(order) == 2:
        swapped = list(range(base.rank))
        swapped[order[0]], swapped[order[1]] = order[1], order[0]
        order = swapped
    if sorted(order) != list(range(base.rank)):
        return NONE
    return _known({order.index(p) for p in base.left}, base.rank)


def _unsqueezed(op: Op, depth: int) -> Units:
    arguments = op.arguments
    dim = number(arguments[0].node) if arguments else None
    if not isinstance(dim, int) or op.receiver is None:
        return NONE
    base = units(op.receiver, depth - 1)
    rank = base.rank + 1 if base.rank is not None else None
    if dim >= 0:
        moved = {p + 1 if p >= dim else p for p in base.left}
        return _known(moved | {dim}, rank)
    moved = {p - 1 if p <= dim else p for p in base.right}
    return _known(set(), rank, moved | {dim})


def _shaped(arguments: Sequence[Argument]) -> Units:
    """Literal ones among the sizes given to view, reshape or a factory."""
    nodes = sizes(arguments)
    if nodes is None:
        return NONE
    left: set[int] = set()
    for position, node in enumerate(nodes):
        if isinstance(node, cst.StarredElement):
            right = {i - len(nodes) for i in range(position + 1, len(nodes)) if number(nodes[i]) == 1}
            return Units(frozenset(left), frozenset(right))
        if number(node) == 1:
            left.add(position)
    return _known(left, len(nodes))


def sizes(arguments: Sequence[Argument]) -> list[cst.BaseExpression | cst.StarredElement] | None:
    """The nodes of sizes given one by one, as a tuple or a list, starred ones as StarredElement; None: out of sight."""
    given: list[cst.BaseExpression | cst.StarredElement] = []
    for argument in arguments:
        if argument.name == "*":
            given.append(cst.StarredElement(argument.node))
        elif argument.name is None:
            given.append(argument.node)
    if len(given) == 1 and isinstance(given[0], (cst.Tuple, cst.List)):
        return [e if isinstance(e, cst.StarredElement) else e.value for e in given[0].elements]
    if len(given) == 1 and number(given[0]) is None:
        return None
    return given


def _kept(op: Op) -> Units:
    dims = [a for a in op.arguments if a.name in (None, "dim")]
    node = dims[0].node if dims else None
    nodes = [e.value for e in node.elements] if isinstance(node, (cst.Tuple, cst.List)) else [node]
    given = [number(n) for n in nodes]
    found = {n for n in given if isinstance(n, int)}
    if len(found) != len(given):
        return NONE
    return _known({n for n in found if n >= 0}, None, {n for n in found if n < 0})


def _indexed(op: Op, depth: int) -> Units:
    """`x[:, None]`, `x[..., None, :]`, `x[None]`."""
    if not isinstance(op.node, cst.Subscript):
        return NONE
    kinds = [index_kind(e) for e in op.node.slice]
    dots = kinds.index("...") if "..." in kinds else None
    left: set[int] = set()
    right: set[int] = set()
    at = 0
    for kind in kinds[:dots]:
        if kind == "None" or kind == "one":
            left.add(at)
        at += kind != "int"
    if dots is not None:
        tail = [k for k in kinds[dots + 1 :] if k != "int"]
        right = {i - len(tail) for i, k in enumerate(tail) if k in ("None", "one")}
    base = units(_source(op), depth - 1) if not (left or right) else NONE
    cut = {i for i, kind in enumerate(kinds) if kind == "slice"} if dots is None else set()
    whole = base if all(k in ("None", ":", "...") or cut and k == "slice" for k in kinds) else NONE
    return _known(left | set(whole.left) - cut, None, right | set(() if cut else whole.right))


def _source(op: Op) -> Value:
    if op.receiver is not None:
        return op.receiver
    return op.inputs[0].value if op.inputs else op.value


def index_kind(element: cst.SubscriptElement) -> str:
    """What one index is: "None", "...", ":" (whole), "one" (`0:1`, `-1:`), "slice", "int" or "other"."""
    index = element.slice
    if isinstance(index, cst.Slice):
        if index.lower is None and index.upper is None and index.step is None:
            return ":"
        return "one" if _single(index) else "slice"
    value = index.value if isinstance(index, cst.Index) else None
    if isinstance(value, cst.Ellipsis):
        return "..."
    if isinstance(value, cst.Name) and value.value == "None":
        return "None"
    return "int" if isinstance(number(value), int) else "other"


def _single(index: cst.Slice) -> bool:
    """`0:1`, `-1:`, `k:k + 1`."""
    if index.upper is None:
        return index.step is None and number(index.lower) == -1
    lower, upper = number(index.lower) if index.lower is not None else 0, number(index.upper)
    if isinstance(lower, int) and isinstance(upper, int):
        return upper - lower == 1 and lower >= 0
    after = index.upper
    return (
        isinstance(after, cst.BinaryOperation)
        and isinstance(after.operator, cst.Add)
        and number(after.right) == 1
        and index.lower is not None
        and same_code(after.left, index.lower)
    )


def broadcast_against(a: Units, b: Units) -> bool:
    """Do two operands surely stretch in different dimensions, so that the result is larger than either?"""
    return bool(
        (a.left and b.left and a.left != b.left and not a.left >= b.left and not b.left >= a.left)
        or (a.right and b.right and not a.right >= b.right and not b.right >= a.right)
    )
