"""Clones on an object that are copied back and stay, beside those that are dropped then or used on."""

import torch
from torch import nn


class Swap:
    def __init__(self):
        self.saved = []

    def store(self, parameters):
        self.saved = [p.clone() for p in parameters]  # expect: TML503

    @torch.no_grad()
    def restore(self, parameters):
        for saved, p in zip(self.saved, parameters):
            p.data.copy_(saved.data)


class Dropping(Swap):
    def keep(self, parameters):
        self.kept = [p.detach().clone() for p in parameters]

    @torch.no_grad()
    def put_back(self, parameters):
        for kept, p in zip(self.kept, parameters):
            p.copy_(kept)
        self.kept = None


class Averaging:
    def start(self, parameters):
        self.average = [p.detach().clone() for p in parameters]

    @torch.no_grad()
    def update(self, parameters):
        for average, p in zip(self.average, parameters):
            average.lerp_(p, 0.1)


if __name__ == "__main__":
    net, swap, dropping, averaging = nn.Linear(2, 2), Swap(), Dropping(), Averaging()
    swap.store(net.parameters())
    swap.restore(net.parameters())
    dropping.keep(net.parameters())
    dropping.put_back(net.parameters())
    averaging.start(net.parameters())
    averaging.update(net.parameters())
