"""Accumulation without `+=`."""

import torch
import torch.nn.functional as F
from torch import nn


def train(model, optimizer, loader):
    smooth, mean, total, highest, decayed = 0.0, 0.0, torch.zeros(()), torch.zeros(()), torch.zeros(())
    for step, (x, y) in enumerate(loader):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        gap = out.softmax(1).amax(1).mean()
        smooth = 0.98 * smooth + 0.02 * gap  # expect: TML102
        mean = mean + (gap - mean) / (step + 1)  # expect: TML102
        total = total.add(gap)  # expect: TML102
        highest = torch.maximum(highest, gap)  # expect: TML102
        decayed = torch.lerp(decayed, gap, 0.1)  # expect: TML102
    return [float(v) for v in (smooth, mean, total, highest, decayed)]


def bank(model, optimizer, loader):
    gathered = torch.empty(0)
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        gathered = torch.cat([gathered, out.softmax(1).amax(1)])  # expect: TML102  # allow: TML307
    return gathered.mean().item()


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 3
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    print(train(net, sgd, data), bank(net, sgd, data))
