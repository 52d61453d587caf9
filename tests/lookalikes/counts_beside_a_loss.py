"""An unknown criterion returns a loss, a count and what is logged: that a backward walks the loss says nothing of the
count, and a method that is given `dim` or `keepdim` is a tensor's, whose indices have no graph."""

import torch
from torch import nn


def criterion(net, sample):
    out = net(sample)
    return out.pow(2).mean(), len(sample), {"rows": len(sample)}


def train(samples, net, criterion, optimizer):
    seen = 0
    for sample in samples:
        loss, size, _ = criterion(net, sample)
        loss *= 0.5
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += size
    return seen


def train_in_parts(samples, net, criterion, optimizer):
    total, seen = 0.0, 0

    def step(sample):
        nonlocal total, seen
        loss, size, _ = criterion(net, sample)
        loss.backward()
        total += loss.detach().item()
        seen += size

    for sample in samples:
        optimizer.zero_grad()
        step(sample)
        optimizer.step()
    return total / seen


class Mean:
    def __init__(self):
        self.total = torch.tensor(0.0)
        self.count = 0

    def update(self, value):
        self.total += value.cpu()
        self.count += 1


def hits(output, target):
    best = output.max(1, keepdim=True)[1]
    return best.eq(target.view_as(best)).float().mean()


def fit(net: nn.Linear, loader, optimizer, mean: Mean):
    for x, y in loader:
        out = net(x)
        mean.update(hits(out, y))
        optimizer.zero_grad()
        nn.functional.cross_entropy(out, y).backward()
        optimizer.step()
    return (mean.total / mean.count).item()


if __name__ == "__main__":
    linear = nn.Linear(4, 3)
    sgd = torch.optim.SGD(linear.parameters(), lr=0.1)
    data = [torch.randn(2, 4)] * 2
    print(train(data, linear, criterion, sgd), train_in_parts(data, linear, criterion, sgd))
    print(fit(linear, [(x, torch.tensor([0, 1])) for x in data], sgd, Mean()))
