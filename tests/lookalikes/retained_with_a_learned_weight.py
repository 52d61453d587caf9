"""A setting with a number as default to which a call hands a parameter that learns: its graph is walked later."""

import torch
from torch import nn


class Weighted:
    def __init__(self, net, weight=1.0):
        self.net, self.weight = net, weight

    def step(self, x):
        loss = self.weight * self.net(x).pow(2).mean()
        loss.backward(retain_graph=True)
        return loss.item()


if __name__ == "__main__":
    raw = nn.Parameter(torch.zeros(()))
    weight = raw.exp()
    weighted = Weighted(nn.Linear(4, 4), weight)
    print([weighted.step(torch.randn(2, 4)) for _ in range(2)])
    (weight - 1).pow(2).backward()
