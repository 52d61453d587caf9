"""Lists of which the last member is read, that something empties or cuts: no pile."""

from collections import deque

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Cleared:
    def __init__(self, net):
        self.net = net.to(device).eval()
        self.results = []

    @torch.no_grad()
    def handle(self, x):
        self.results.append(self.net(x))
        return self.results[-1].mean().item()

    def clear(self):
        self.results.clear()


class Rebound:
    def __init__(self, net):
        self.net = net.to(device).eval()
        self.results = []

    @torch.no_grad()
    def handle(self, x):
        self.results.append(self.net(x))
        return self.results[-1].mean().item()

    def begin(self):
        self.results = []


class Bounded:
    def __init__(self, net):
        self.net = net.to(device).eval()
        self.outputs = deque(maxlen=2)

    @torch.no_grad()
    def handle(self, x):
        self.outputs.append(self.net(x))
        return self.outputs[-1].mean().item()


class Cut:
    def __init__(self, net):
        self.net = net.to(device).eval()
        self.frames = []

    @torch.no_grad()
    def handle(self, x):
        self.frames.append(self.net(x))
        self.frames = self.frames[-4:]
        return self.frames[-1].mean().item()


if __name__ == "__main__":
    x = torch.randn(2, 4, device=device)
    for kind in (Cleared, Rebound, Bounded, Cut):
        print(kind(nn.Linear(4, 4)).handle(x))
