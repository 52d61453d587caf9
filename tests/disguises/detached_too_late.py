"""The name is detached, but only after the attached value was stored, or on another path."""

import torch
import torch.nn.functional as F
from torch import nn


def train(model, optimizer, loader, quiet=False):
    kept, logged, branch = [], [], []
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        margin = out.softmax(1).amax(1).mean()
        kept.append(margin)  # expect: TML101
        margin = margin.detach()
        logged.append(margin)
        spread = out.softmax(1).var()
        spread.detach()
        branch.append(spread)  # expect: TML101
        if not quiet:
            print(margin.item())
    return sum(map(float, kept)), sum(map(float, logged)), sum(map(float, branch))


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 3
    print(train(net, torch.optim.SGD(net.parameters(), lr=0.1), data))
