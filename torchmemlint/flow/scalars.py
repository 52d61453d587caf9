"""Is a value surely a Python number, although nothing declares it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.patterns import key_of, maker, nodes, number, operands, sign
from torchmemlint.flow.values import Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.flow.graph import Op

DEPTH = 5
NUMBERS = frozenset({"int", "len", "max", "min", "size"})
"""Calls with an argument that give a number."""


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
    if op.name == "load":
        return _attribute(flow, op.path or "", depth - 1)
    if op.name != "arith" or not sign(op):
        return False
    if isinstance(op.node, cst.UnaryOperation):
        return all(scalar_like(flow, o.value, op.node.expression, depth - 1) for o in op.inputs)
    return all(scalar_like(flow, v, n, depth - 1) for v, n in zip(operands(op), nodes(op)))


def _attribute(flow: FunctionFlow, path: str, depth: int) -> bool:
    """`self.smoothing`: is all that the class's methods assign to it a number?"""
    head, _, name = path.rpartition(".")
    owner = flow.program.project.owner(flow.info)
    if owner is None or not flow.info.parameters or head != flow.info.parameters[0].name:
        return False
    stored = []
    for method in flow.program.classes.assigners(owner, name):
        inner = flow.program.flow(method)
        if inner is not None and method.parameters:
            own = f"{method.parameters[0].name}.{name}"
            stored += [(inner, s) for op in inner.named("load") if op.path == own for s in op.stores]
    return bool(stored) and all(
        s.value_node is not None and scalar_like(inner, s.value, s.value_node, depth) for inner, s in stored
    )


def called_loss(op: Op) -> bool:
    """Is it what an object or dict holds under a loss's name (`outputs.loss`)? It is a number mostly."""
    node = op.node
    if op.name == "load" and isinstance(node, cst.Attribute):
        return knowledge.weak_name("loss", node.attr.value)
    key = key_of(node)
    return key is not None and knowledge.weak_name("loss", key)


def named_loss(node: cst.CSTNode | None) -> bool:
    """Does its name suggest a loss? That is one number mostly."""
    path = dotted(node) if node is not None else None
    return path is not None and knowledge.weak_name("loss", path.rpartition(".")[2])


def written_number(flow: FunctionFlow, node: cst.BaseExpression) -> bool:
    """Is it a number by its form, or a name that is given nothing else? `4`, `x.shape[0]`, `x.size(0)`, `max(m, n)`."""
    if not isinstance(node, cst.Name):
        return _number_form(node)
    given = flow.assigned.get(node.value, [])
    return bool(given) and all(map(_number_form, given))


def _number_form(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Call):
        called = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
        return bool(node.args) and isinstance(called, cst.Name) and called.value in NUMBERS
    return isinstance(node, (cst.Integer, cst.Subscript))


def compared(value: Value) -> bool:
    """Is it what a loss compares with its targets? Those are the outputs for a batch, no single number."""
    losses = [u for op in value.defs for u in op.uses if knowledge.functional_loss(u.name.removeprefix("torch."))]
    return any(u.receiver is not None and set(u.receiver.defs) & set(value.defs) for u in losses)
