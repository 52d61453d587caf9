from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Callable, Optional

import torch
from nets import Net


@dataclass
class State:
    model: Net
    step: int = 0


@torch.no_grad()
def classes(state: State, loader):
    return [state.model(x).argmax(1).cpu() for x in loader]


class Declared:
    model: Net

    def __init__(self, make: Callable):
        self.setup(make)

    def setup(self, make):
        self.model = make()

    @torch.no_grad()
    def classes(self, loader):
        return [self.model(x).argmax(1).cpu() for x in loader]


class Lazy:
    def __init__(self, path: str):
        self.path = path

    @cached_property
    def model(self) -> Net:
        return torch.load(self.path, map_location="cpu", weights_only=False)

    @property
    def net(self):
        model = Net()
        model.load_state_dict(torch.load(self.path, map_location="cpu"))
        return model

    @torch.no_grad()
    def classes(self, loader):
        return [self.model(x).argmax(1).cpu() for x in loader]

    @torch.no_grad()
    def scores(self, loader):
        return [self.net(x).amax().item() for x in loader]


@torch.no_grad()
def optional(model: Optional[Net], loader):
    return [model(x).argmax(1).cpu() for x in loader]
