"""Operations that make no graph of their own worth telling: they pass on what was made before."""

from __future__ import annotations

import libcst as cst

from torchmemlint.flow.graph import Op, saves_nothing
from torchmemlint.flow.values import Fact

HANDING = frozenset({"item", "bind", "store", "comprehension"})


def hands_on(op: Op) -> bool:
    """Does the operation only pass on, group, view, weigh or add up what was made before, and save nothing anew?"""
    if op.name in HANDING or op.name == "read" or op.name.startswith("literal."):
        return True
    if op.name == "iter":  # a generator makes each member anew
        return all(_is_listed(o) or o.name in ("iter", "item") and hands_on(o) for o in op.inputs)
    if op.name == "arith":
        return all(maker.value.fact is not Fact.YES or hands_on(maker) for maker in op.inputs)
    return saves_nothing(op) or op.name == "torch.getitem"


def _is_listed(op: Op) -> bool:
    """Has it its members before it is gone over?"""
    listed = op.name.startswith(("torch.", "literal.", "read")) or op.callee in ("?.items", "?.values")
    return listed or isinstance(op.node, (cst.ListComp, cst.DictComp, cst.SetComp))
