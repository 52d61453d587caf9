"""The caching allocator keeps the blocks of freed tensors, so that nvidia-smi shows more than is used. `empty_cache`
returns blocks that nothing uses: never a living tensor, nor the segment that it lies in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

DEVICE = "cuda"
FIGURES = {
    "reserved while the tensors are alive": "1x",
    "returned by empty_cache while they are alive": "0x",
    "allocated, changed by empty_cache": "0 B",
    "allocated after they are freed": "0 B",
    "reserved after they are freed": "1x",
    "returned by empty_cache after they are freed": "1x",
    "returned with every other block of 9 MiB alive": "0x",
}
BLOCKS, BLOCK = 16, 64 << 20  # bytes
SMALL, PINNED = 64, 9 << 20


def fact(device: torch.device, look: Callable[[], Any]) -> dict[str, float]:
    """Allocated and reserved bytes around `empty_cache`, for one byte of the tensors."""
    torch.cuda.empty_cache()
    start, size = look(), BLOCKS * BLOCK
    tensors = [torch.ones(BLOCK, dtype=torch.uint8, device=device) for _ in range(BLOCKS)]
    full = look()
    torch.cuda.empty_cache()
    kept = look()
    del tensors
    freed = look()
    torch.cuda.empty_cache()
    return {
        "reserved while the tensors are alive": (full.reserved - start.reserved) / size,
        "returned by empty_cache while they are alive": (full.reserved - kept.reserved) / size,
        "allocated, changed by empty_cache": kept.live - full.live,
        "allocated after they are freed": freed.live - start.live,
        "reserved after they are freed": (freed.reserved - start.reserved) / size,
        "returned by empty_cache after they are freed": (freed.reserved - look().reserved) / size,
        "returned with every other block of 9 MiB alive": _pinned(device, look),
    }


def _pinned(device: torch.device, look: Callable[[], Any]) -> float:
    tensors = [torch.ones(PINNED, dtype=torch.uint8, device=device) for _ in range(SMALL)]
    del tensors[::2]
    before = look().reserved
    torch.cuda.empty_cache()
    return float(before - look().reserved) / (SMALL * PINNED)
