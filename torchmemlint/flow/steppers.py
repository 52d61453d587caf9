"""Functions that a library's engine runs on each batch, without a backward on what they return."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchmemlint import knowledge
from torchmemlint.flow.values import Kind

if TYPE_CHECKING:
    from torchmemlint.flow.frame import Closure, Frame
    from torchmemlint.flow.graph import Op


def steps(frame: Frame, key: str) -> bool:
    """Is the project's function of that key handed to such an engine here?"""
    return any(
        a.value.kind is Kind.FUNCTION and a.value.name == key and _is_stepper(frame, op)
        for op in _unknown(frame)
        for a in op.arguments
    )


def steps_nested(frame: Frame, closure: Closure) -> bool:
    """The same for a nested function."""
    return any(a.value.const is closure.node and _is_stepper(frame, op) for op in _unknown(frame) for a in op.arguments)


def _unknown(frame: Frame) -> list[Op]:
    return [op for op in frame.ops if op.name == "?call"]


def _is_stepper(frame: Frame, op: Op) -> bool:
    return knowledge.stepper(frame.program.project.dotted(frame.unit.index, op.callee or ""))
