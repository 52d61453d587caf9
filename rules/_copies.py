"""What the copy rules share: short names of expressions, and whether a copy sees in-place writes."""

from __future__ import annotations

import libcst as cst

from torchmemlint.fixes import Plan, replace, unwrap_call
from torchmemlint.flow.consumers import is_fresh, overwritten, reading, undisturbed
from torchmemlint.flow.events import OpClosed
from torchmemlint.flow.graph import Op
from torchmemlint.flow.values import Value


def shown(event: OpClosed, node: cst.CSTNode | None, otherwise: str = "the tensor") -> str:
    """An expression as the user wrote it, in backquotes; `otherwise` where it is long or missing."""
    if node is None:
        return otherwise
    text = event.function.unit.text(node)
    return f"`{text}`" if len(text) <= 40 and "\n" not in text else otherwise


def read_in_passing(event: OpClosed, op: Op, source: Value) -> bool:
    """Is the copy only read, by operators that make new tensors, before anything could write it or its source?"""
    found = reading(event.function, op)
    if found.escapes or not found.readers or overwritten(source):
        return False
    return all(map(is_fresh, found.ops)) and undisturbed(event.function, op, found.ops)


def place(op: Op) -> cst.CSTNode:
    """Where a finding about a method call stands: at the method's name, which may be lines below the call's start."""
    node = op.node
    return node.func.attr if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else node


def method(op: Op) -> bool:
    """Is it spelled `x.clone()` and not `torch.clone(x)`?"""
    func = op.node.func if isinstance(op.node, cst.Call) else None
    return isinstance(func, cst.Attribute) and func.value is op.receiver_node


def without_call(op: Op) -> Plan | None:
    """The tensor in place of the call on it, in either spelling."""
    if method(op):
        return unwrap_call(op.node)
    return replace(op.node, op.receiver_node) if op.receiver_node is not None else None
