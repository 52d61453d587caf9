"""Questions to the allocator: are they asked so that the answer means what it is read for?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.graph import Op, closure
from torchmemlint.flow.values import Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

RESETS = frozenset({"reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached"})


def never_reset(flow: FunctionFlow) -> bool:
    """Does no file that imports link with this one mention a reset of the peak?"""
    return not flow.program.project.linked_name_any(flow.info.path, RESETS)


def repeated(flow: FunctionFlow, op: Op, depth: int = 2) -> Op | None:
    """The loop's operation through which `op` is asked again and again: itself, or a call of its function."""
    if op.loops:
        return op
    for site in flow.program.callers.sites(flow.info).calls if depth else ():
        found = repeated(site.flow, site.op, depth - 1)
        if found is not None:
            return found
    return None


def compared(flow: FunctionFlow, op: Op) -> bool:
    """Is the answer kept or returned, to be compared with others, rather than printed as it is?"""
    return bool(op.uses) or isinstance(op.statement, (cst.Return, cst.Assign))


def asks_driver(op: Op) -> bool:
    """Does a shell command ask `nvidia-smi` for used memory?"""
    texts = [text for a in op.arguments for text in _texts(a.value)]
    return any("nvidia-smi" in text for text in texts) and any("memory" in text for text in texts)


def _texts(value: Value, depth: int = 3) -> Iterator[str]:
    """The strings in a command, be it one string or a list of them."""
    if isinstance(value.const, str):
        yield value.const
    members = value.elements if isinstance(value.elements, tuple) else ()
    for member in members if depth else ():
        yield from _texts(member, depth - 1)
    if value.kind is Kind.CONTAINER and not members and depth:
        for op in closure(value.defs, lambda o: o.inputs, 20):
            if op.value.elements is not value.elements and isinstance(op.value.elements, tuple):
                yield from _texts(op.value, depth - 1)
