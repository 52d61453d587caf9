"""Lists that are emptied, rebound or consumed within the step."""

import torch
import torch.nn.functional as F
from torch import nn


def rebound(model, optimizer, loader):
    for x, y in loader:
        parts = []
        for piece, label in zip(x, y):
            parts.append(F.cross_entropy(model(piece), label))
        loss = sum(parts) / len(parts)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def consumed_after_loop(model, optimizer, views):
    outs = []
    for view in views:
        outs.append(F.normalize(model(view), dim=-1))
    similarity = torch.stack(outs).mean()
    optimizer.zero_grad()
    (-similarity).backward()
    optimizer.step()


def popped(model, optimizer, loader):
    pending = []
    for x, y in loader:
        pending.append(F.cross_entropy(model(x), y))
        optimizer.zero_grad()
        pending.pop(0).backward()
        optimizer.step()


class Steps:
    def __init__(self, model):
        self.model = model
        self.pending = []
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def collect(self, x, y):
        self.pending.append(F.cross_entropy(self.model(x), y))

    def update(self):
        self.optimizer.zero_grad()
        torch.stack(self.pending).mean().backward()
        self.optimizer.step()
        self.pending.clear()


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(6, 4), torch.arange(6) % 3)] * 2
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    rebound(net, sgd, data)
    consumed_after_loop(net, sgd, [x for x, _ in data])
    popped(net, sgd, data)
    steps = Steps(net)
    for x, y in data:
        steps.collect(x, y)
        steps.update()
