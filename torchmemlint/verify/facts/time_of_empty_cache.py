"""Emptied in every step, the cache slows a loop down, since each step takes its blocks from the driver again. The peak
of what is allocated stays the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = "cuda"
FIGURES = {"time of a step against one that leaves the cache": ">= 1.1x", "peak against the same": "1x"}
STEPS, LAYERS, WIDTH, BATCH = 20, 8, 256, 32768  # little arithmetic, and activations of 32 MiB


def fact(device: torch.device, look: Callable[[], Any]) -> dict[str, float]:
    """Medians over steps that take turns, after a few that are not counted."""
    model = nn.Sequential(*[m for _ in range(LAYERS) for m in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(BATCH, WIDTH).to(device), torch.zeros(BATCH, dtype=torch.long).to(device)
    seconds: dict[bool, list[float]] = {True: [], False: []}
    peaks: dict[bool, list[float]] = {True: [], False: []}
    for empties in [True, False] * STEPS:
        _step(model, optimizer, x, y, empties)  # the first one of its kind starts from what the other left
        look()
        start = time.perf_counter()
        _step(model, optimizer, x, y, empties)
        now = look()
        seconds[empties].append(now.clock - start)
        peaks[empties].append(now.peak)
    ratio = median(seconds[True][3:]) / median(seconds[False][3:])
    return {
        "time of a step against one that leaves the cache": ratio,
        "peak against the same": max(peaks[True]) / max(peaks[False]),
    }


def _step(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor, empties: bool) -> None:
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
    if empties:
        torch.cuda.empty_cache()
