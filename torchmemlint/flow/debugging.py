"""Debugging aids left on: the detection of anomalies, the profiler, the record of allocations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Op
from torchmemlint.flow.lean import walk
from torchmemlint.flow.patterns import alone

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

FEW = 50  # iterations


def switched_on(op: Op) -> bool:
    """Is the aid switched on for good: by a statement of its own, by a literal or no flag, under no condition?"""
    flag = op.argument(0, "mode") or op.argument(0, "enabled")
    written = flag is None or flag.value.const is True or flag.value.const in ("all", "state")
    return written and alone(op) and not op.branches


def profiled_loop(flow: FunctionFlow, op: Op) -> Op | None:
    """The forward or backward that a loop of unknown length runs inside the `with` block of a profiler."""
    block = op.statement
    if not isinstance(block, cst.With) or all(item.item is not op.node for item in block.items):
        return None
    loops = [node for node in walk(block.body) if isinstance(node, (cst.For, cst.While)) and not few(node)]
    inside = {id(node) for loop in loops for node in walk(loop)}
    return next((o for o in flow.named("module", "backward", "step", "call") if id(o.node) in inside), None)


def scheduled(op: Op) -> bool:
    """Has the profiler a schedule, so that it keeps the events of some steps only?"""
    return any(a.name in ("schedule", "enabled", "*", "**") for a in op.arguments)


def few(loop: cst.CSTNode) -> bool:
    """Is the number of iterations written down, and small?"""
    if isinstance(loop, (cst.For, cst.CompFor)) and isinstance(loop.iter, (cst.Tuple, cst.List)):
        return not any(isinstance(e, cst.StarredElement) for e in loop.iter.elements)
    if not isinstance(loop, (cst.For, cst.CompFor)) or not isinstance(loop.iter, cst.Call):
        return False
    if not isinstance(loop.iter.func, cst.Name):
        return False
    counts = [a.value for a in loop.iter.args]
    literal = all(isinstance(c, cst.Integer) and len(c.value) < 6 and int(c.value, 0) <= FEW for c in counts)
    return loop.iter.func.value == "range" and literal


def over_items(flow: FunctionFlow, loop: cst.CSTNode) -> bool:
    """Does the loop run over things whose number is known nowhere: no range, no list that is written down?"""
    if not isinstance(loop, (cst.For, cst.CompFor)) or written_down(flow, loop):
        return False
    source = loop.iter
    while isinstance(source, cst.Call) and source.args and _pairs(source):
        source = source.args[0].value
    return not (isinstance(source, cst.Call) and isinstance(source.func, cst.Name) and source.func.value == "range")


def _pairs(call: cst.Call) -> bool:
    """`enumerate(files)`, `tqdm(files)`, `tqdm.tqdm(files)`"""
    name = (dotted(call.func) or "").rpartition(".")[2]
    return name in ("enumerate", "tqdm", "trange", "track", "sorted", "list", "zip")


def written_down(flow: FunctionFlow, loop: cst.CSTNode) -> bool:
    """Does the loop run a few times, or over a list whose members are written down?"""
    over = loop.iter if isinstance(loop, (cst.For, cst.CompFor)) else None
    return few(loop) or over is not None and _listed(flow, over, 3)


def _listed(flow: FunctionFlow, node: cst.BaseExpression, depth: int) -> bool:
    """A display, one value for each member of such a display, or a name that is given nothing else."""
    if isinstance(node, (cst.List, cst.Tuple)):
        return not any(isinstance(e, cst.StarredElement) for e in node.elements)
    if isinstance(node, cst.ListComp):
        inner = node.for_in
        return inner.inner_for_in is None and (few(inner) or depth > 0 and _listed(flow, inner.iter, depth - 1))
    if not isinstance(node, cst.Name) or not depth or any(op.path == node.value for op in flow.named("store")):
        return False
    if all(op.path != node.value for op in flow.named("bind")):
        return False
    given = flow.assigned.get(node.value, [])
    return bool(given) and all(_listed(flow, value, depth - 1) for value in given)
