"""Containers and methods under a second name."""

import torch
import torch.nn.functional as F
from torch import nn


def train(model, optimizer, loader):
    scores, values, chosen = [], [], []
    push = scores.append
    same = values
    targets = {"train": chosen}
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        margin = out.softmax(1).amax(1).mean()
        push(margin)  # expect: TML101
        same.append(margin)  # expect: TML101
        targets["train"].append(margin)  # expect: TML101
    return [float(v) for v in scores + values + chosen]


def conditional(model, optimizer, loader, every=2):
    kept = []
    step = 0
    while step < len(loader):
        x, y = loader[step]
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        try:
            if step % every == 0:
                kept.append(out.softmax(1).var())  # expect: TML101
        finally:
            step += 1
    return sum(map(float, kept))


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(6, 4), torch.arange(6) % 3)] * 4
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    print(train(net, sgd, data), conditional(net, sgd, data))
