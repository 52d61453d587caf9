"""Views in records that hold the whole tensor too, all of its parts, or copies."""

import torch
from torch import nn


@torch.no_grad()
def both(model: nn.Module, loader):
    found = []
    for name, x in loader:
        out = model(x)
        found.append((name, out, out[:, 0]))
    return found


@torch.no_grad()
def halves(model: nn.Module, loader):
    found = []
    for name, x in loader:
        out = model(x)
        found.append({"name": name, "first": out[:, 0], "rest": out[:, 1:]})
    return found


@torch.no_grad()
def copied(model: nn.Module, loader):
    found, whole = [], []
    for name, x in loader:
        out = model(x)
        found.append((name, out[:, 0].clone()))
        whole.append((name, out.argmax(-1)))
    return found, whole


@torch.no_grad()
def apart(model: nn.Module, loader):
    first, whole = [], []
    for name, x in loader:
        out = model(x)
        first.append((name, out[:, 0]))
        whole.append((name, out))
    return first, whole


if __name__ == "__main__":
    net, data = nn.Linear(4, 4), [("a", torch.randn(2, 5, 4)), ("b", torch.randn(2, 5, 4))]
    print(len(both(net, data)), len(halves(net, data)), len(copied(net, data)[0]), len(apart(net, data)[0]))
