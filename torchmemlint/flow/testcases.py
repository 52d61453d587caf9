"""Tests: code that runs a model once on a small input to see that it runs."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.graph import Op, closure, downstream

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

WORK = frozenset({"backward", "load_state_dict", "load"})
NAMES = frozenset({"bind", "del"})
FRAMEWORKS = frozenset({"unittest", "pytest"})
TEST_CASES = frozenset({"unittest.TestCase", "unittest.IsolatedAsyncioTestCase", "unittest.case.TestCase"})


def in_test(flow: FunctionFlow) -> bool:
    """Is the function in a file of tests, or a method of a test case, of a class that one inherits from or of one that
    stands beside test cases? (Files called so may also evaluate a model: `test_net.py`.)"""
    info, project = flow.info, flow.program.project
    stem = PurePath(info.path).stem
    collected = stem.startswith("test_") or stem.endswith("_test")
    owner = project.owner(info)
    if owner is None:
        return collected and bool(info.name)
    family = [owner, *project.subclasses(owner)]
    by_unittest = any(not TEST_CASES.isdisjoint(project.external_bases(c)) for c in family)
    return by_unittest or collected and (owner.name.startswith("Test") or _imports_framework(flow))


def _imports_framework(flow: FunctionFlow) -> bool:
    """Does the file import what runs tests?"""
    return any(target.partition(".")[0] in FRAMEWORKS for target in flow.unit.index.imports.values())


def asserts(flow: FunctionFlow) -> bool:
    """Is it a test that asserts something? What it runs is made for the test, and small."""
    return flow.info.name.startswith("test") and in_test(flow) and "assert" in flow.unit.text(flow.node)


def only_asserted(op: Op) -> bool:
    """Is the result, or its shape, read by `assert` statements alone, and perhaps returned?"""
    if not op.consumers:
        return isinstance(op.statement, cst.Assert)
    asserted = [isinstance(user.statement, cst.Assert) for user in op.consumers if user.name != "return"]
    return bool(asserted) and all(asserted)


def only_sized(op: Op) -> bool:
    """Is a result that has a name, of no batch of data, read for its sizes alone? Such a pass runs once, on a small
    input made up for it."""
    given = closure([maker for argument in op.arguments for maker in argument.value.defs], lambda o: o.inputs)
    named = any(user.name == "bind" for user in op.uses) and not any(o.name in ("iter", "batch") for o in given)
    read = [other for other in downstream(op) if other is not op and other.name not in NAMES and other.callee != "len"]
    return named and all(other.name == "torch.size" or _hands_on(other) for other in read)


def _hands_on(op: Op) -> bool:
    """Is it only on the way to another result? Of an argument that has no part in one, the callee read the values."""
    return op.passes and not op.sunk and (op.name != "argument" or bool(op.uses))


def in_demonstration(flow: FunctionFlow, op: Op) -> bool:
    """Is it a call of a module of the same file, at the top level of a file that neither trains nor loads weights? It
    shows that the module runs."""
    if flow.info.name or op.receiver is None:
        return False
    made = flow.program.class_(op.receiver.name)
    if made is None or made.path != flow.info.path:
        return False
    return not flow.program.project.names_any(flow.unit.index, WORK)
