"""One-hot rows: how they are made, and tensors that hold one constant."""

from __future__ import annotations

from torchmemlint.flow.graph import Argument, Op
from torchmemlint.flow.patterns import back, bare, is_number, maker, sign
from torchmemlint.flow.values import Value

CASTS = frozenset({"to", "type", "type_as", "float", "double", "half", "bfloat16"})
VIEWS = frozenset(
    {"permute", "transpose", "movedim", "view", "reshape", "unsqueeze", "squeeze", "contiguous", "flatten"}
)
CONSTANTS = frozenset(
    {"ones_like", "zeros_like", "full_like", "ones", "zeros", "full", "new_ones", "new_zeros", "new_full"}
)


def makes_one_hot(op: Op) -> bool:
    """Does the operation write one row per index with a single one in it?"""
    name = bare(op)
    if name == "one_hot":
        return True
    if name in ("index", "index_select", "item", "getitem") and op.name != "item":
        rows = maker(op.receiver) if op.receiver is not None else None
        return rows is not None and bare(rows) == "eye"
    base, written = scattered(op) or (None, None)
    zeros = base in ("zeros", "zeros_like", "new_zeros")
    return zeros and written is not None and is_number(written.value, written.node)


def scattered(op: Op) -> tuple[str, Argument] | None:
    """The factory of a constant tensor, and what the operation writes into it at indices; None for other operations."""
    written = op.argument(2, "value") or op.argument(2, "src")
    if bare(op) not in ("scatter_", "scatter") or op.receiver is None or written is None:
        return None
    base = back(op.receiver, CASTS | {"fill_", "clone"})
    return (bare(base), written) if base is not None and bare(base) in CONSTANTS else None


def one_hot(value: Value) -> Op | None:
    """The operation that made a one-hot value, through casts and views."""
    made = back(value, CASTS | VIEWS)
    return made if made is not None and makes_one_hot(made) else None


def constant(op: Op) -> Op | None:
    """The factory of a full-sized tensor that holds one number: `torch.ones_like(e) * -9e15`."""
    if bare(op) in CONSTANTS:
        return op
    if op.name == "arith" and sign(op) in ("*", "neg", "+", "-", "/"):
        tensors = [a.value for a in op.arguments if a.value.defs] or [i.value for i in op.inputs]
        made = maker(tensors[0]) if len(tensors) == 1 else None
        return constant(made) if made is not None and made.consumers == [op] else None
    return None
