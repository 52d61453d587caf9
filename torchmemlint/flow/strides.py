"""What indexing, splitting and modules do to contiguity."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchmemlint.flow.graph import Argument, Op
from torchmemlint.flow.patterns import bare, dimension, number
from torchmemlint.flow.values import Layout, Value

FILLING = frozenset({"Linear", "Bilinear", "Embedding"})  # modules that write a new contiguous result
PRESERVING = frozenset(
    """ReLU ReLU6 LeakyReLU GELU SiLU Mish ELU Tanh Sigmoid Softplus Dropout LayerNorm RMSNorm Softmax LogSoftmax
    Identity""".split()
)


def indexed_layout(elements: Sequence[cst.SubscriptElement], base: Layout) -> Layout:
    """The layout of `base[elements]` for ints, slices, None and Ellipsis.

    Leading ints and one slice after them leave a contiguous block; an int or a part of a dimension behind a dimension
    that stays leaves gaps. `x[:, None]` and `x[:]` change nothing."""
    kept, gaps = False, False
    for element in elements:
        index = element.slice
        if type(index) is cst.Slice:
            whole = index.lower is None and index.upper is None and index.step is None
            gaps = gaps or (not whole and (kept or index.step is not None))
            kept = True
        elif type(index) is not cst.Index:
            continue
        elif type(index.value) is cst.Ellipsis:
            kept = True
        elif not (type(index.value) is cst.Name and index.value.value == "None"):
            gaps = gaps or kept
    return Layout.STRIDED if gaps else base


def parts_layout(base: Value, args: Sequence[Argument]) -> Layout:
    """The layout of the parts of chunk and split: parts along an inner dimension have gaps."""
    plain = [a for a in args if a.name is None]
    dim = next((a for a in args if a.name == "dim"), plain[1] if len(plain) > 1 else None)
    position = dim.value.const if dim is not None else 0
    if isinstance(position, int) and position >= 1:
        return Layout.STRIDED
    return base.layout if position == 0 else Layout.UNKNOWN


def module_layout(name: str, args: Sequence[Argument]) -> Layout:
    """The layout of what a torch.nn module returns. Convolutions and pooling follow their input's memory format."""
    bare = name.rpartition(".")[2]
    if not name.startswith("torch.nn."):
        return Layout.UNKNOWN
    if bare in FILLING:
        return Layout.CONTIGUOUS
    contiguous = bool(args) and args[0].value.layout is Layout.CONTIGUOUS
    return Layout.CONTIGUOUS if bare in PRESERVING and contiguous else Layout.UNKNOWN


TURNING = frozenset({"t", "T", "mT", "mH", "H", "adjoint", "movedim", "moveaxis", "expand", "expand_as", "as_strided"})
SWAPPING = frozenset({"transpose", "swapaxes", "swapdims"})
VIEWING = frozenset(
    "chunk split tensor_split unbind select narrow view reshape unsqueeze squeeze detach getitem".split()
)


def dense_rows(value: Value, depth: int = 8) -> bool:
    """Do the elements of the last dimension surely lie side by side, as far as views of one tensor turn its dimensions?
    The fused attention kernels want that."""
    return depth > 0 and all(_dense_rows(op, depth) for op in value.defs)


def _dense_rows(op: Op, depth: int) -> bool:
    name = bare(op)
    if name in TURNING or name in SWAPPING and not _swaps_outer(op) or name == "permute" and not _keeps_last(op):
        return False
    if name in ("unbind", "select") and (dimension(op) or 0) < 0 or _picks_of_last(op):
        return False
    if op.name in ("item", "iter"):
        return all(_dense_rows(source, depth - 1) for source in op.inputs) if depth > 1 else False
    if name in SWAPPING | VIEWING | {"permute"}:
        return op.receiver is not None and dense_rows(op.receiver, depth - 1)
    return True


def _swaps_outer(op: Op) -> bool:
    dims = [number(a.node) for a in op.arguments if a.name is None]
    return len(dims) == 2 and (set(dims) <= {0, 1, 2} or set(dims) <= {-2, -3, -4})


def _keeps_last(op: Op) -> bool:
    dims = [number(a.node) for a in op.arguments]
    return len(dims) > 1 and dims[-1] in (len(dims) - 1, -1)


def _picks_of_last(op: Op) -> bool:
    """Is it an index with a number behind other dimensions, perhaps for the last one?"""
    parts = op.node.slice if type(op.node) is cst.Subscript else ()
    return len(parts) > 1 and type(parts[-1].slice) is cst.Index
