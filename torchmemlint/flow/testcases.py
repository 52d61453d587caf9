"""Tests: code that runs a model once on a small input to see that it runs."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

TEST_CASES = frozenset({"unittest.TestCase", "unittest.IsolatedAsyncioTestCase", "unittest.case.TestCase"})


def in_test(flow: FunctionFlow) -> bool:
    """Is the function a test that pytest or unittest collects, or a method of such a class or of one it inherits?"""
    info, project = flow.info, flow.program.project
    stem = PurePath(info.path).stem
    collected = stem.startswith("test_") or stem.endswith("_test")
    owner = project.owner(info) if info.owner is not None else None
    if owner is None:
        return collected and info.name.startswith("test")
    family = [owner, *project.subclasses(owner)]
    by_unittest = any(not TEST_CASES.isdisjoint(project.external_bases(c)) for c in family)
    return by_unittest or (collected and owner.name.startswith("Test"))
