from dataclasses import dataclass
from typing import Iterator, List

import torch


@dataclass
class Transition:
    obs: torch.Tensor
    action: torch.Tensor
    log_prob: torch.Tensor
    value: torch.Tensor
    reward: float
    done: bool


class Rollout:
    def __init__(self):
        self._items: List[Transition] = []

    def push(self, item: Transition) -> None:
        self._items.append(item)

    def __len__(self):
        return len(self._items)

    def clear(self):
        self._items = []

    def column(self, name: str) -> torch.Tensor:
        return torch.stack([getattr(t, name) for t in self._items]).detach()

    def rewards(self, gamma: float, device) -> torch.Tensor:
        out, acc = [], 0.0
        for t in reversed(self._items):
            acc = t.reward + gamma * acc * (1.0 - t.done)
            out.append(acc)
        return torch.tensor(out[::-1], device=device)
