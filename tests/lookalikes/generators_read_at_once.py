"""Generators of forwards that are read while grad is off, or that switch it off themselves."""

import torch
from torch import nn


def total(model: nn.Module, batches):
    with torch.no_grad():
        sums = (model(x).sum().item() for x in batches)
        return sum(sums)


@torch.no_grad()
def joined(model: nn.Module, batches):
    outputs = (model(x) for x in batches)
    return torch.cat(list(outputs))


def guarded(model, batches):
    for x in batches:
        with torch.no_grad():
            out = model(x)
        yield out


@torch.no_grad()
def decorated(model, batches):
    for x in batches:
        yield model(x)


def lazily(model: nn.Module, batches):
    with torch.no_grad():
        return (model(x) for x in batches)


def lengths(model: nn.Module, batches):
    with torch.no_grad():
        sizes = (len(x) for x in batches)
        longest = model(torch.cat(list(batches)))
    return list(sizes), longest


class Reader:
    def __init__(self):
        self.net = nn.Linear(4, 2).requires_grad_(False)

    def rows(self, batches):
        with torch.no_grad():
            rows = (self.net(x) for x in batches)
        return [row.tolist() for row in rows]


def report(model, batches):
    with torch.no_grad():
        best = max(out.amax().item() for out in lazily(model, batches))
        stream, other = guarded(model, batches), decorated(model, batches)
    return best, [out.mean().item() for out in stream], [out.mean().item() for out in other]


if __name__ == "__main__":
    torch.manual_seed(0)
    net, data = nn.Linear(4, 2), [torch.randn(3, 4) for _ in range(3)]
    print(total(net, data), joined(net, data).shape, lengths(net, data)[1].shape)
    print(report(net, data), len(Reader().rows(data)))
