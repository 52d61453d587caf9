"""What indexing, splitting and modules do to contiguity."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchmemlint.flow.graph import Argument
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
        if isinstance(index, cst.Slice):
            whole = index.lower is None and index.upper is None and index.step is None
            gaps = gaps or (not whole and (kept or index.step is not None))
            kept = True
        elif not isinstance(index, cst.Index):
            continue
        elif isinstance(index.value, cst.Ellipsis):
            kept = True
        elif not (isinstance(index.value, cst.Name) and index.value.value == "None"):
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
