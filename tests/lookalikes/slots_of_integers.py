"""Scores written into slots of integer and boolean tensors: the copy is not differentiable and keeps no graph."""

import torch
from torch import nn


class Rollout:
    def __init__(self, steps):
        self.marks = torch.zeros(steps, dtype=torch.int64)
        self.step = 0

    def add(self, mark):
        self.marks[self.step] = mark
        self.step += 1


def run(model, optimizer, batches):
    counts = torch.zeros(len(batches), dtype=torch.long)
    flags = torch.zeros(len(batches)).bool()
    rollout = Rollout(len(batches))
    for i, x in enumerate(batches):
        out = model(x)
        loss = out.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        counts[i] = (out * 100).sum()
        flags[i] = out.sum()
        rollout.add((out * 100).max())
    return counts, flags, rollout.marks


if __name__ == "__main__":
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    print([t.requires_grad for t in run(net, torch.optim.SGD(net.parameters(), lr=0.1), [torch.randn(3, 4)] * 3)])
