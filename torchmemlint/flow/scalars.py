"""Is a value surely a Python number, although nothing declares it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.patterns import maker, nodes, number, operands, sign
from torchmemlint.flow.values import Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

DEPTH = 5


def scalar_like(flow: FunctionFlow, value: Value, node: cst.BaseExpression, depth: int = DEPTH) -> bool:
    """A literal, a host value, a parameter whose default is a number, or arithmetic of these."""
    if value.kind is Kind.HOST or number(node) is not None:
        return True
    if value.kind is not Kind.UNKNOWN or depth == 0:
        return False
    op = maker(value)
    if op is None:
        return False
    if op.name == "param":
        return isinstance(op.node, cst.Param) and number(op.node.default) is not None
    if op.name != "arith" or not sign(op):
        return False
    if isinstance(op.node, cst.UnaryOperation):
        return all(scalar_like(flow, o.value, op.node.expression, depth - 1) for o in op.inputs)
    return all(scalar_like(flow, v, n, depth - 1) for v, n in zip(operands(op), nodes(op)))
