"""Places that live as long as the process: class, function, default argument, cache."""

import functools

import torch
import torch.nn.functional as F
from torch import nn


class Probe(nn.Module):
    trace = []
    newest = None

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        h = torch.tanh(self.linear(x))
        self.trace.append(h)  # expect: TML104
        type(self).newest = h  # expect: TML104
        return h


def remember(value, store={}):
    store[len(store)] = value  # allow: TML104
    return len(store)


def step(model, optimizer, x, y):
    out = model(x)
    loss = F.cross_entropy(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step.margins.append(out.softmax(1).amax(1).mean())  # expect: TML104
    return remember(out.softmax(1).var())  # expect: TML104


step.margins = []

ENCODER = nn.Linear(4, 8)


@functools.lru_cache(maxsize=None)  # expect: TML405
def code(index):
    return ENCODER(torch.full((1, 4), float(index)))  # allow: TML201, TML405


if __name__ == "__main__":
    net = Probe()
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    print([step(net, sgd, torch.randn(5, 4), torch.arange(5) % 3) for _ in range(2)], code(1).norm().item())
