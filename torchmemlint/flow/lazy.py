"""Generators made under no_grad and read after the block: their bodies run in the mode of the one who reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Mode, Op, Sink, sinks
from torchmemlint.flow.handed import runs_with_grad
from torchmemlint.flow.threads import DEPTH, records
from torchmemlint.flow.values import Fact

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

LAZY = frozenset({"enumerate", "zip", "islice", "chain", "tqdm"})
NAMING = frozenset({"bind", "return"})  # neither reads a generator


def read_with_grad(flow: FunctionFlow) -> Iterator[Op]:
    """The generators of the function that are made without grad, run a forward and are first read with grad on."""
    for op in flow.named("comprehension", "call"):
        made = op.mode is Mode.OFF and op.uses and Sink.BACKWARD not in sinks(op)
        if made and _runs_forward(flow, op) and _read_outside(flow, op):
            yield op


def _runs_forward(flow: FunctionFlow, op: Op) -> bool:
    """Is it a generator, the body of which runs a module with weights in the mode that it is read in?"""
    if op.name == "call":
        return _generates(flow, op)
    if not isinstance(op.node, cst.GeneratorExp):
        return False
    loop = flow.frame.number(op.node.for_in)
    inside = [o for o in flow.named("module", "call") if loop in o.loops]
    return any(_trains(o) if o.name == "module" else _called(flow, o) for o in inside)


def _trains(op: Op) -> bool:
    return op.receiver is not None and op.receiver.trainable is not Fact.NO


def _generates(flow: FunctionFlow, op: Op) -> bool:
    info = flow.program.called(op)
    return info is not None and info.is_generator and _called(flow, op)


def _called(flow: FunctionFlow, op: Op) -> bool:
    program, info = flow.program, flow.program.called(op)
    if info is None or program.entry_mode(info) is Mode.OFF:
        return False
    inner = program.flow(info, program.callers.context(info)) or program.flow(info)
    return inner is not None and any(records(inner, o, DEPTH) for o in inner.named("module", "call"))


def _read_outside(flow: FunctionFlow, op: Op) -> bool:
    """Do all who read it do so with grad on? A name that is bound again, or a list of it, is no reader."""
    readers = list(_readers(op))
    if any(reader.mode is Mode.OFF for reader in readers):
        return False
    if any(runs_with_grad(flow, reader) for reader in readers):
        return True
    return any(use.name == "return" for use in op.uses) and _read_by_caller(flow)


def _readers(op: Op, depth: int = DEPTH) -> Iterator[Op]:
    """The operations that make it run; what goes over it as lazily does not, but what reads that."""
    for use in op.uses:
        called = dotted(use.node.func) if isinstance(use.node, cst.Call) else None
        if depth and called is not None and called.rpartition(".")[2] in LAZY:
            yield from _readers(use, depth - 1)
        elif use.name not in NAMING:
            yield use


def _read_by_caller(flow: FunctionFlow) -> bool:
    """Does a known caller read the function's result with grad on, and none without?"""
    sites = flow.program.callers.sites(flow.info).calls
    readers = [(site.flow, use) for site in sites for use in _readers(site.op)]
    if any(Sink.BACKWARD in sinks(site.op) for site in sites):
        return False  # it trains
    return bool(readers) and all(runs_with_grad(other, use) for other, use in readers)
