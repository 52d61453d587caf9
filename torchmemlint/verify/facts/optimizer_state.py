"""Gradients cost one copy of the parameters. SGD keeps nothing beside them, with momentum one copy; Adam and AdamW keep
two, AMSGrad three."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

FIGURES = {
    "gradients": "1x",
    "gradients of 100 million parameters": "381.47 MiB",
    "state of SGD": "0x",
    "state of SGD with momentum": "1x",
    "state of Adam": "2x",
    "state of AdamW": "2x",
    "state of AdamW with AMSGrad": "3x",
    "state of RMSprop": "1x",
    "state of Adagrad": "1x",
    "state of NAdam": "2x",
    "state of Adadelta": "2x",
    "state of Adamax": "2x",
}
OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.01),
    "SGD with momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9),
    "Adam": torch.optim.Adam,
    "AdamW": torch.optim.AdamW,
    "AdamW with AMSGrad": lambda parameters: torch.optim.AdamW(parameters, amsgrad=True),
    "RMSprop": torch.optim.RMSprop,
    "Adagrad": torch.optim.Adagrad,
    "NAdam": torch.optim.NAdam,
    "Adadelta": torch.optim.Adadelta,
    "Adamax": torch.optim.Adamax,
}
WIDTH = 1024  # one layer has 4 MiB


def fact(device: torch.device, look: Callable[[], Any]) -> dict[str, float]:
    """Parameters alone, with gradients, and with the state after a step."""
    found = _gradients(device, look)
    for name, make in OPTIMIZERS.items():
        found[f"state of {name}"] = _state(make, device, look)
    return found


def _gradients(device: torch.device, look: Callable[[], Any]) -> dict[str, float]:
    before = look().live
    model = nn.Linear(10_000, 10_000, bias=False).to(device)
    parameters = look().live - before
    model(torch.ones(8, 10_000).to(device)).sum().backward()
    gradients = look().live - before - parameters
    return {"gradients": gradients / parameters, "gradients of 100 million parameters": gradients}


def _state(make: Callable[[Any], torch.optim.Optimizer], device: torch.device, look: Callable[[], Any]) -> float:
    before = look().live
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4)]).to(device)
    parameters = look().live - before
    optimizer = make(model.parameters())
    for _ in range(2):
        model(torch.ones(8, WIDTH).to(device)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return float((look().live - before - parameters) / parameters)
