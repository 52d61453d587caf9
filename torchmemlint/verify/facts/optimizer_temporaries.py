"""On CUDA the default step of most optimizers works on all parameters at once and holds temporaries as large as they
are; with `foreach=False` they are a few times the largest parameter, with `fused=True` nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

DEVICE = "cuda"
FIGURES = {
    "SGD, default": "0x",
    "SGD with weight decay, default": "1x",
    "SGD with weight decay, foreach=False": "<= 0.2x",
    "SGD with momentum, default": "0x",
    "Adam, default": "1x",
    "Adam, foreach=False": "<= 0.3x",
    "Adam, fused=True": "0x",
    "AdamW, default": "1x",
    "AdamW, foreach=False": "<= 0.3x",
    "AdamW, fused=True": "0x",
    "RMSprop, default": "1x",
    "RMSprop, foreach=False": "<= 0.2x",
    "Adagrad, default": "2x",
    "Adagrad, foreach=False": "<= 0.2x",
}
OPTIMIZERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "SGD": (torch.optim.SGD, {"lr": 0.01}),
    "SGD with weight decay": (torch.optim.SGD, {"lr": 0.01, "weight_decay": 0.01}),
    "SGD with momentum": (torch.optim.SGD, {"lr": 0.01, "momentum": 0.9}),
    "Adam": (torch.optim.Adam, {}),
    "AdamW": (torch.optim.AdamW, {}),
    "RMSprop": (torch.optim.RMSprop, {}),
    "Adagrad": (torch.optim.Adagrad, {}),
}
FORMS: dict[str, dict[str, bool]] = {
    "default": {},
    "foreach=False": {"foreach": False},
    "fused=True": {"fused": True},
}
LAYERS, WIDTH = 16, 1024  # of 4 MiB each


def fact(device: torch.device, look: Callable[[], Any]) -> dict[str, float]:
    """The highest inside a later step, above what is alive before it, for one byte of parameters."""
    return {name: _temporaries(name, device, look) for name in FIGURES}


def _temporaries(figure: str, device: torch.device, look: Callable[[], Any]) -> float:
    name, _, form = figure.partition(", ")
    before = look().live
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)]).to(device)
    parameters = look().live - before
    kind, options = OPTIMIZERS[name]
    optimizer = kind(model.parameters(), **options, **FORMS[form])
    highest = 0
    for _ in range(3):  # the state is made in the first step
        model(torch.ones(8, WIDTH).to(device)).sum().backward()
        start = look().live
        optimizer.step()
        highest = look().peak - start
    return float(highest / parameters)
