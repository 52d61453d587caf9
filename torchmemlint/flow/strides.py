"""What basic indexing does to contiguity."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchmemlint.flow.values import Layout


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
        elif isinstance(index.value, cst.Ellipsis):
            kept = True
        elif not (isinstance(index.value, cst.Name) and index.value.value == "None"):
            gaps = gaps or kept
    return Layout.STRIDED if gaps else base
