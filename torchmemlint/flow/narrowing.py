"""Views of a part of a tensor: which values keep a whole storage for a small piece of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.graph import Op, closure
from torchmemlint.flow.layout import units
from torchmemlint.flow.values import Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

NARROWING = frozenset({"torch.select", "torch.narrow"})
ALIASES = frozenset(
    f"torch.{name}" for name in "detach view squeeze unsqueeze transpose permute t flatten view_as expand data".split()
)
MOVES = frozenset({"torch.cpu", "torch.to"})  # a copy, unless the tensor is there already
LASTING = frozenset({"param", "torch.load", "batch", "iter"})  # outlives the iteration, or is needed whole


class Share(IntEnum):
    """How much of the storage a view leaves out, as far as its form tells."""

    SOME = 1  # a range, or one along the first dimension: it may be nearly all of it
    MOST = 2  # one position of an inner dimension


@dataclass(frozen=True)
class Narrowed:
    """A value that is a view of a part of a storage that nothing else keeps."""

    view: Op  # the operation that takes the part
    base: Op  # the operation that made the storage
    share: Share
    moved: bool  # a `.cpu()` or `.to()` follows: it copies the part, or nothing where the tensor is there already


def narrowed(flow: FunctionFlow, value: Value, depth: int = 6) -> Narrowed | None:
    """The view that `value` surely is; None where it has a storage of its own, or its base lives on anyway."""
    if len(value.defs) != 1 or not depth:
        return None
    (op,) = value.defs
    if op.name in MOVES and op.receiver is not None:
        inner = narrowed(flow, op.receiver, depth - 1)
        return Narrowed(inner.view, inner.base, inner.share, True) if inner is not None else None
    if op.name in ALIASES and op.receiver is not None:
        return narrowed(flow, op.receiver, depth - 1)
    if op.name == "call":
        return _returned(flow, op, depth)
    share = _share(op) if not _of_one_column(op) else None
    base = _base(op)
    if share is None or base is None or base.name in LASTING or (base.name == "load" and base.path is not None):
        return None
    return Narrowed(op, base, share, False)


def kept_whole(part: Narrowed) -> bool:
    """Is the base kept itself, or a range of it too?"""
    keeping = ("store", "construct", "call", "return", "literal.list", "literal.tuple", "literal.dict")
    others = [user for user in part.base.uses if user is not part.view and _share(user) is Share.SOME]
    packed = [user for user in part.base.uses if user.name.startswith("literal.")]
    return any(user.name == "store" for user in part.base.uses) or any(
        use.name in keeping for other in (*others, *packed) for use in other.uses
    )


def of_forward(part: Narrowed) -> bool:
    """Did a forward give the base? Its inner dimensions are those of tokens, channels or pixels."""
    return any(op.name == "module" for op in closure([part.base], lambda o: o.inputs, 50))


def _base(op: Op) -> Op | None:
    """The operation that made the storage a view is of: through other views."""
    source = op.receiver.defs if op.receiver is not None else tuple(op.inputs)
    seen: set[Op] = set()
    while len(source) == 1 and source[0] not in seen:
        maker = source[0]
        seen.add(maker)  # a view carried round a loop leads back to itself
        if maker.name == "item":
            source = tuple(maker.inputs)
        elif maker.receiver is None or maker.name not in ALIASES | {"torch.getitem"}:
            return maker
        else:
            source = maker.receiver.defs
    return None


def _returned(flow: FunctionFlow, call: Op, depth: int) -> Narrowed | None:
    """What a called project function returns; a part of its parameter is a part of the argument."""
    program = flow.program
    info = program.called(call)
    inner = program.flow(info) if info is not None else None
    returns = inner.named("return") if inner is not None else []
    found = [_of_parameter(inner, op.value, op, depth) for op in returns] if inner is not None else []
    parts = [n for n in found if n is not None]
    if not parts:
        return None
    made = any(o.name == "module" for o in closure([call], lambda o: o.inputs, 100)) or parts[0].base.name != "param"
    return Narrowed(parts[0].view, call, parts[0].share, parts[0].moved) if made else None


def _of_parameter(flow: FunctionFlow, value: Value, returned: Op, depth: int) -> Narrowed | None:
    makers = [op for op in returned.inputs if op.name not in ("bind",)]
    if len(makers) != 1:
        return None
    op = makers[0]
    share, base = _share(op), _base(op)
    if share is not None and base is not None and base.name in ("param", "module", "call"):
        return Narrowed(op, base, share, False)
    return narrowed(flow, Value(kind=value.kind, defs=(op,)), depth - 1)


def _share(op: Op) -> Share | None:
    """How much a view leaves out; None where the operation takes no part."""
    if op.name in NARROWING:
        return Share.SOME
    if op.name not in ("torch.getitem", "item") or not isinstance(op.node, cst.Subscript):
        return None
    tensor = op.name == "torch.getitem" or (len(op.node.slice) > 1 and any(_whole(e.slice) for e in op.node.slice))
    if not tensor or op.value.kind not in (Kind.TENSOR, Kind.UNKNOWN):
        return None
    inner, best = False, None
    for element in op.node.slice:
        index = element.slice
        if _whole(index):
            inner = True
        elif not isinstance(index, cst.Index):
            best, inner = max(best or Share.SOME, Share.SOME), True
        elif isinstance(index.value, cst.Name) and index.value.value == "None":
            continue
        elif op.name == "torch.getitem" or _literal(index.value):
            best = max(best or Share.SOME, Share.MOST if inner else Share.SOME)
    return best


def _of_one_column(op: Op) -> bool:
    """Is it the only column of a tensor: `drawn[:, 0]` of one sample a row, `x.sum(1, keepdim=True)[:, 0]`?"""
    node, base = op.node, op.receiver
    if base is None or not isinstance(node, cst.Subscript) or len(node.slice) != 2:
        return False
    rows, column = (element.slice for element in node.slice)
    return _whole(rows) and isinstance(column, cst.Index) and units(base).has(1, 2)


def _whole(index: cst.BaseSlice) -> bool:
    if isinstance(index, cst.Slice):
        return index.lower is None and index.upper is None and index.step is None
    return isinstance(index, cst.Index) and isinstance(index.value, cst.Ellipsis)


def _literal(node: cst.BaseExpression) -> bool:
    inner = node.expression if isinstance(node, cst.UnaryOperation) else node
    return isinstance(inner, cst.Integer)
