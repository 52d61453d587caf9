"""Leaves of the graph: parameters and other tensors that require grad, though no operation is recorded behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchmemlint.flow.graph import Op, fact
from torchmemlint.flow.lifetimes import applied_flow
from torchmemlint.flow.values import Fact, Value

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

FACTORIES = "tensor zeros ones full empty randn rand zeros_like ones_like full_like empty_like randn_like rand_like"
LEAVES = frozenset({"parameter", "torch.requires_grad_"} | {f"torch.{name}" for name in FACTORIES.split()})
DISPLAYS = frozenset({"literal.list", "literal.tuple", "literal.dict", "comprehension"})
DEPTH = 3  # calls and displays that are looked into


def is_leaf(flow: FunctionFlow, value: Value, depth: int = DEPTH) -> bool:
    """Is it a leaf, or a list or dict of leaves, made here or by a called function of the project?"""
    return bool(value.defs) and all(_is_leaf(flow, op, depth) for op in value.defs)


def _is_leaf(flow: FunctionFlow, op: Op, depth: int) -> bool:
    if op.name in DISPLAYS and depth:
        put_in = [store.value for store in op.stores]
        attached = [v for v in (*(maker.value for maker in op.inputs), *put_in) if fact(v) is Fact.YES]
        return bool(attached) and all(is_leaf(flow, v, depth - 1) for v in attached)
    if op.name in ("store", "bind") and depth:
        return bool(op.inputs) and all(_is_leaf(flow, maker, depth - 1) for maker in op.inputs)
    inner = applied_flow(flow, op) if op.name == "call" and depth else None
    if inner is not None and inner is not flow:
        returned = [value for value in inner.frame.returns if fact(value) is not Fact.NO or value.params]
        return bool(returned) and all(is_leaf(inner, value, depth - 1) for value in returned)
    return op.name in LEAVES
