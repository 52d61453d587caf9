"""A forward pass that records its graph keeps every intermediate until backward: training needs many times the memory
of inference. Checkpointed blocks keep their inputs alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

FIGURES = {
    "a forward pass with grad against without": ">= 3x",
    "inference_mode against no_grad": "1x",
    "model.eval() against model.train()": "1x",
    "held after the pass, result bound": ">= 3x",
    "held after backward, result bound": "1x",
    "training without checkpoints against with": ">= 2x",
}
BLOCKS, WIDTH, BATCH = 8, 512, 4096  # 8 MiB an activation


def fact(device: torch.device, look: Callable[[], Any]) -> dict[str, float]:
    """Peaks of one pass through some blocks, and what is held then, for one byte of the pass's input."""
    layers = [(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(BLOCKS)]
    model = nn.Sequential(*[nn.Sequential(*block) for block in layers]).to(device)
    x = torch.ones(BATCH, WIDTH).to(device)
    recorded = _pass(model, x, look, nullcontext())
    silent = _pass(model, x, look, torch.no_grad())
    trained = _trained(model, x, look, lambda block, h: block(h))
    frugal = _trained(model, x, look, lambda block, h: checkpoint(block, h, use_reentrant=False))
    return {
        "a forward pass with grad against without": recorded[0] / silent[0],
        "inference_mode against no_grad": _pass(model, x, look, torch.inference_mode())[0] / silent[0],
        "model.eval() against model.train()": _pass(model.eval(), x, look, nullcontext())[0] / recorded[0],
        "held after the pass, result bound": recorded[1] / (x.numel() * x.element_size()),
        "held after backward, result bound": trained[1] / (x.numel() * x.element_size()),
        "training without checkpoints against with": trained[0] / frugal[0],
    }


def _pass(model: nn.Module, x: torch.Tensor, look: Callable[[], Any], mode: AbstractContextManager[Any]) -> list[float]:
    """Highest and held, above what was alive before."""
    before = look().live
    with mode:
        result = model(x)
        now = look()
    assert result is not None
    return [now.peak - before, now.live - before]


def _trained(model: nn.Module, x: torch.Tensor, look: Callable[[], Any], call: Callable[..., Any]) -> list[float]:
    """The same of a pass and its backward; the gradients are there before."""
    model.train()
    model(x).sum().backward()
    before = look().live
    h = x
    for block in model.children():
        h = call(block, h)
    h.sum().backward()
    now = look()
    return [now.peak - before, now.live - before]
