"""What one kept loss holds after its backward: next to nothing, unless the loss function returns its scalar on the
storage of the elementwise buffer, which then stays, detached too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

FIGURES = {
    "cross_entropy": "0x",
    "huber_loss": "0x",
    "l1_loss": "0x",
    "mse_loss": "1x",
    "mse_loss, detached": "1x",
    "mse_loss, cloned": "0x",
    "smooth_l1_loss": "1x",
    "never backpropagated": ">= 1x",
}
LOSSES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "cross_entropy": F.cross_entropy,
    "huber_loss": F.huber_loss,
    "l1_loss": F.l1_loss,
    "mse_loss": F.mse_loss,
    "smooth_l1_loss": F.smooth_l1_loss,
}
KEPT: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "": lambda loss: loss,
    "detached": lambda loss: loss.detach(),
    "cloned": lambda loss: loss.detach().clone(),
}


def fact(device: torch.device, look: Callable[[], Any]) -> dict[str, float]:
    """Bytes held for one byte of the loss function's input."""
    x = torch.ones(2048, 1024).to(device)
    target = torch.full((2048, 1024), 1 / 1024).to(device)
    weight = torch.ones(1024, device=device, requires_grad=True)
    size = x.numel() * x.element_size()
    (x * weight).sum().backward()
    found = {}
    for name in FIGURES:
        before = look().live
        function, _, how = name.partition(", ")
        loss = LOSSES.get(function, F.cross_entropy)(x * weight, target)
        if function in LOSSES:
            loss.backward()
        loss = KEPT[how](loss)
        found[name] = (look().live - before) / size
        del loss
    return found
