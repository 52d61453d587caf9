"""Checkpointed blocks compute their forward twice: they trade time for memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

DEVICE = "cuda"
FIGURES = {"peak without checkpoints against with": ">= 2x", "time with checkpoints against without": ">= 1.1x"}
STEPS, BLOCKS, WIDTH, BATCH = 20, 8, 1024, 8192


def fact(device: torch.device, look: Callable[[], Any]) -> dict[str, float]:
    """Medians over steps that take turns, after a few that are not counted."""
    blocks = [nn.Sequential(*_layers()) for _ in range(BLOCKS)]
    model = nn.Sequential(*blocks).to(device)
    x = torch.randn(BATCH, WIDTH).to(device)
    seconds: dict[bool, list[float]] = {True: [], False: []}
    peaks: dict[bool, list[float]] = {True: [], False: []}
    for frugal in [True, False] * STEPS:
        before = look().live
        start = time.perf_counter()
        h = x
        for block in blocks:
            h = checkpoint(block, h, use_reentrant=False) if frugal else block(h)
        h.sum().backward()
        del h
        now = look()
        peaks[frugal].append(now.peak - before)
        seconds[frugal].append(now.clock - start)
        model.zero_grad()
    return {
        "peak without checkpoints against with": median(peaks[False]) / median(peaks[True]),
        "time with checkpoints against without": median(seconds[True][3:]) / median(seconds[False][3:]),
    }


def _layers() -> list[nn.Module]:
    return [layer for _ in range(3) for layer in (nn.Linear(WIDTH, WIDTH), nn.GELU())]
