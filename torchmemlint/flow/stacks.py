"""Stacks of equal blocks that a forward runs one after the other: what activation checkpointing is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchmemlint.flow.graph import Mode, Op, closure
from torchmemlint.flow.values import Fact, Kind

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.flow.program import Program

SWITCHES = (
    "gradient_checkpointing_enable",
    "gradient_checkpointing",
    "grad_checkpointing",
    "use_checkpoint",
    "checkpoint_wrapper",
    "set_grad_checkpointing",
    "checkpoint_sequential",
    "apply_activation_checkpointing",
    "activation_checkpointing",
)
LAYERS = frozenset({"torch.nn.TransformerEncoderLayer", "torch.nn.TransformerDecoderLayer"})
TRAINING = ("backward", "LightningModule", "Trainer")


def runs_stack(flow: FunctionFlow, op: Op) -> bool:
    """Does the operation call one of a list of composite blocks, each on the last one's result?"""
    if (
        op.name != "module"
        or not op.loops
        or op.mode is Mode.OFF
        or op.receiver is None
        or op.receiver.trainable is Fact.NO
    ):
        return False
    own = flow.program.method(op.receiver.name, "forward") is not None and _composite(flow.program, op.receiver.name)
    if not own and op.receiver.name not in LAYERS:
        return False
    members = [maker for maker in op.receiver.defs if maker.name == "iter" and maker.value.kind is Kind.MODULE]
    return bool(members) and _carries_on(op)


def _carries_on(op: Op) -> bool:
    """Does the last block's result come in again?"""
    return op.carried or op in set(closure(op.inputs, lambda o: o.inputs, 200))


def _composite(program: Program, key: str | None) -> bool:
    """Has the block at least two parts with parameters of their own?"""
    info = program.class_(key)
    start = program.project.method(info, "__init__") if info is not None else None
    flow = program.flow(start) if start is not None else None
    if flow is None:
        return False
    parts = [op for op in flow.named("construct") if op.value.kind is Kind.MODULE and op.value.trainable is Fact.YES]
    return len(parts) >= 2


def checkpointed(flow: FunctionFlow) -> bool:
    """Does the module's class use activation checkpointing, or has the project a switch for it?"""
    project = flow.program.project
    if any(project.mentioned(word) for word in SWITCHES):
        return True
    owner = project.owner(flow.info)
    methods = project.methods(owner) if owner is not None else ()
    return any("checkpoint" in info.words for info in (flow.info, *methods))


def trained(program: Program) -> bool:
    """Does the project train anything?"""
    return any(program.project.mentioned(word) for word in TRAINING)
