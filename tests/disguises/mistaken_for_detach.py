"""Copies and moves that stay attached, and a guard that comes too late."""

import torch
import torch.nn.functional as F
from torch import nn


def train(model, optimizer, loader):
    cloned, moved, sent, cast, late, scaled = [], [], [], [], [], []
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        margin = out.softmax(1).amax(1).mean()
        cloned.append(margin.clone())  # expect: TML101
        moved.append(margin.cpu())  # expect: TML101
        sent.append(margin.to("cpu", non_blocking=True))  # expect: TML101
        cast.append(margin.double())  # expect: TML101
        scaled.append(100 * margin.squeeze())  # expect: TML101
        with torch.no_grad():
            late.append(margin)  # expect: TML101
    return [float(sum(map(float, values))) for values in (cloned, moved, sent, cast, late, scaled)]


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 3
    print(train(net, torch.optim.SGD(net.parameters(), lr=0.1), data))
