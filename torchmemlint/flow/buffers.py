"""Losses of which a kept scalar holds more than its one element."""

from __future__ import annotations

from torchmemlint import knowledge
from torchmemlint.flow.graph import Op, closure
from torchmemlint.flow.values import Fact, Value


def whole_buffer(value: Value) -> Op | None:
    """The loss whose scalar result, this value or what it shares storage with, holds its whole elementwise buffer."""
    for op in closure((*value.defs, *value.shares), lambda o: o.value.shares):
        if op.name == "module" and op.callee is not None:
            module = knowledge.module_fact(op.callee)
            if module is not None and module.keeps_buffer:
                return op
        if op.name.startswith("torch.") and knowledge.saves_whole_buffer(op.name) and op.value.scalar is Fact.YES:
            return op
    return None
