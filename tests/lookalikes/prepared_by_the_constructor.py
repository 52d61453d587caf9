"""What a constructor's helper does to the object counts: it freezes, it switches grad mode off, it replaces a layer."""

import torch
from torch import nn


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 8)
        self.history = []
        self._prepare()

    def _prepare(self):
        self._freeze()

    def _freeze(self):
        for parameter in self.net.parameters():
            parameter.requires_grad = False

    def forward(self, x):
        out = self.net(x)
        self.history.append(out)
        return out


class Counts(nn.Module):
    """`reset` puts numbers where a tensor was."""

    def __init__(self):
        super().__init__()
        self.total = torch.zeros(1)
        self.reset()

    def reset(self):
        self.total = 0.0

    def add(self, loss):
        self.total += loss.item()


def watch(loader):
    frozen = Frozen().eval()
    for x in loader:
        with torch.no_grad():
            frozen(x)


class Player:
    """Everything runs without grad, as the constructor says."""

    def __init__(self, net):
        self.net = net
        self.seen = []
        self._start()
        with torch.no_grad():
            self._warm_up()

    def _start(self):
        torch.set_grad_enabled(False)

    def _warm_up(self):
        self.seen.append(self.net(torch.zeros(1, 8)))
