"""Operations that make no graph of their own worth telling: they pass on what was made before."""

from __future__ import annotations

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow.graph import Op
from torchmemlint.flow.values import Fact

HANDING = frozenset({"item", "bind", "store", "comprehension"})


def hands_on(op: Op) -> bool:
    """Does the operation only pass on, group, view or weigh what was made before?"""
    if op.name in HANDING or op.name.startswith("literal."):
        return True
    if op.name == "iter":  # a generator makes each member anew
        return all(_is_listed(o) for o in op.inputs)
    if op.name == "arith":
        return all(maker.value.fact is not Fact.YES or hands_on(maker) for maker in op.inputs)
    fact = knowledge.operator(op.name.removeprefix("torch.")) if op.name.startswith("torch.") else None
    return fact is not None and fact.kind == "view" or op.name == "torch.getitem"


def _is_listed(op: Op) -> bool:
    """Has it its members before it is gone over?"""
    listed = op.name.startswith(("torch.", "literal.", "read")) or op.callee in ("?.items", "?.values")
    return listed or isinstance(op.node, cst.ListComp)
