"""Records keep a view beside its whole, a copy, or nothing of it."""

from dataclasses import dataclass
from typing import NamedTuple
import torch
from torch import nn


class Item(NamedTuple):
    cls: torch.Tensor
    patches: torch.Tensor


@dataclass
class Token:
    cls: torch.Tensor
    label: int


class Saved:
    def __init__(self, cls):
        self.mean = cls.mean()


@torch.no_grad()
def collect(model: nn.Module, loader):
    bank = []
    for x, y in loader:
        f = model(x)
        bank.append(Item(f[:, 0], f))
        bank.append(Item(f[:, 0], f[:, 1:]))
        bank.append(Token(f[:, 0].clone(), 1))
        bank.append(Token(f[:, 0].cpu(), 1))
        bank.append(Saved(f[:, 0]))
        last = Token(f[:, 0], 0)
        print(last)
    return bank
