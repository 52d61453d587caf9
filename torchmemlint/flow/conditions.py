"""Conditions on constants: whether a test holds for what is known of the names in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import libcst as cst

UNSET = object()
CONSTANTS = {"True": True, "False": False, "None": None}


def constant(node: cst.BaseExpression | None) -> Any:
    """The literal that an expression is: a truth value, None or a text; UNSET of any other."""
    if isinstance(node, cst.Name):
        return CONSTANTS.get(node.value, UNSET)
    return node.raw_value if isinstance(node, cst.SimpleString) else UNSET


def holds(test: cst.BaseExpression, given: Mapping[str, Any]) -> bool | None:
    """Does the test hold for these constants, by name; an ellipsis stands for an object that is not None? None: it is
    not known."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        inner = holds(test.expression, given)
        return None if inner is None else not inner
    if isinstance(test, cst.BooleanOperation):
        parts = {holds(test.left, given), holds(test.right, given)}
        decided = isinstance(test.operator, cst.Or)
        return decided if decided in parts else None if None in parts else not decided
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        return _compared(test, given)
    value = given.get(test.value, UNSET) if isinstance(test, cst.Name) else UNSET
    return None if value is UNSET else bool(value)


def _compared(test: cst.Comparison, given: Mapping[str, Any]) -> bool | None:
    left = given.get(test.left.value, UNSET) if isinstance(test.left, cst.Name) else UNSET
    right, operator = constant(test.comparisons[0].comparator), test.comparisons[0].operator
    if left is UNSET or right is UNSET or left is ... and right is not None:
        return None
    if isinstance(operator, (cst.Is, cst.Equal)):
        return bool(left == right)
    return bool(left != right) if isinstance(operator, (cst.IsNot, cst.NotEqual)) else None
