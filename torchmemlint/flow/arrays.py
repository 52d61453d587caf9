"""Names and attributes that hold arrays or numbers at one time and tensors at another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Op, puts
from torchmemlint.flow.values import Kind

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow


def also_on_host(flow: FunctionFlow, node: cst.BaseExpression) -> bool:
    """Is the name, or the attribute by another method of the class, also given what is no tensor?"""
    path = dotted(node)
    if path is None:
        return False
    if any(op.path == path and op.value.kind is Kind.HOST for op in flow.named("bind")):
        return True
    owner = flow.program.project.owner(flow.info)
    own, _, name = path.rpartition(".")
    if owner is None or not flow.info.parameters or own != flow.info.parameters[0].name:
        return False
    for method in flow.program.classes.assigners(owner, name):
        inner = flow.program.flow(method)
        if inner is not None and any(_to_host(op, name) for op in inner.named("store")):
            return True
    return False


def _to_host(op: Op, attribute: str) -> bool:
    """`self.ids = self.ids.numpy()`; a literal, as None before there is a tensor, only stands in."""
    given = op.value.kind is Kind.HOST and bool(op.value.defs)
    return given and puts(op, "assign") and (op.path or "").rpartition(".")[2] == attribute
