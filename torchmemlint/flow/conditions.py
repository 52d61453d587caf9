"""Conditions on constants: whether a test holds for what is known of the names in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import libcst as cst

from torchmemlint.flow.frame import dotted

UNSET = object()
CONSTANTS = {"True": True, "False": False, "None": None}


@dataclass(frozen=True)
class Member:
    """A member of an enumeration of the project."""

    owner: str  # the class's own name
    name: str


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
    return None if value is UNSET or isinstance(value, Member) else bool(value)


def _compared(test: cst.Comparison, given: Mapping[str, Any]) -> bool | None:
    left = given.get(test.left.value, UNSET) if isinstance(test.left, cst.Name) else UNSET
    right, operator = test.comparisons[0].comparator, test.comparisons[0].operator
    if isinstance(operator, (cst.Is, cst.Equal)):
        return _same(left, right)
    if isinstance(operator, (cst.In, cst.NotIn)):
        found = _among(left, right)
        return found if found is None or isinstance(operator, cst.In) else not found
    same = _same(left, right) if isinstance(operator, (cst.IsNot, cst.NotEqual)) else None
    return None if same is None else not same


def _same(left: Any, node: cst.BaseExpression) -> bool | None:
    """Is a known value the one that is written there?"""
    right = constant(node)
    if right is UNSET and isinstance(left, Member) and isinstance(node, cst.Attribute):
        owner = (dotted(node.value) or "").rpartition(".")[2]
        return left.name == node.attr.value if owner == left.owner else None
    if left is UNSET or right is UNSET or left is ... and right is not None:
        return None
    return None if isinstance(left, Member) and right is not None else bool(left == right)


def _among(left: Any, node: cst.BaseExpression) -> bool | None:
    """Is a known value one of those that are written there?"""
    if not isinstance(node, (cst.Tuple, cst.List, cst.Set)):
        return None
    found = {_same(left, e.value) for e in node.elements}
    return True if True in found else None if None in found else False
