"""A tensor is a small description of a storage: views describe the same storage anew, and a copy is made only where
the layout has to change. A view keeps the whole storage alive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

FIGURES = {
    "view": "0x",
    "slice": "0x",
    "transpose": "0x",
    "permute": "0x",
    "expand to ten times the size": "0x",
    "detach": "0x",
    "reshape": "0x",
    "reshape of a transpose": "1x",
    "contiguous": "0x",
    "contiguous of a transpose": "1x",
    "clone": "1x",
    "repeat ten times": "10x",
    "held by one row of it": "1x",
    "held by a clone of one row": "0x",
}
CALLS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "view": lambda x: x.view(-1),
    "slice": lambda x: x[10:20],
    "transpose": lambda x: x.t(),
    "permute": lambda x: x.view(64, 64, 1024).permute(2, 0, 1),
    "expand to ten times the size": lambda x: x.expand(10, *x.shape),
    "detach": lambda x: x.detach(),
    "reshape": lambda x: x.reshape(-1),
    "reshape of a transpose": lambda x: x.t().reshape(-1),
    "contiguous": lambda x: x.contiguous(),
    "contiguous of a transpose": lambda x: x.t().contiguous(),
    "clone": lambda x: x.clone(),
    "repeat ten times": lambda x: x.repeat(10, 1),
}


def fact(device: torch.device, look: Callable[[], Any]) -> dict[str, float]:
    """What a call's result adds to the bytes alive, for one byte of the tensor."""
    empty = look().live
    x = torch.ones(4096, 1024, device=device)
    size = look().live - empty
    found = {}
    for name, call in CALLS.items():
        result = call(x)
        found[name] = (look().live - empty - size) / size
        del result
    row = x[0]
    del x
    found["held by one row of it"] = (look().live - empty) / size
    row = row.clone()
    found["held by a clone of one row"] = (look().live - empty) / size
    return found
