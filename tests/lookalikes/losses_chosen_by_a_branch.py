"""Whichever loss a branch has chosen, its backward frees what is kept: both losses are made of it, or the branch made it."""

import torch
import torch.nn.functional as F
from torch import nn


def fit(net, loader, optimizer, smooth, weight):
    seen, history = [], {"loss": [], "penalty": []}
    for x, y in loader:
        out = net(x)
        if smooth:
            loss = F.cross_entropy(out, y, label_smoothing=0.1)
        else:
            loss = F.cross_entropy(out, y)
        if weight:
            penalty = sum(p.abs().sum() for p in net.parameters())
            history["penalty"].append(penalty.item())
            loss = loss + weight * penalty
        total = loss if weight < 1 else loss / weight
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        seen.append(loss.detach().item())
        history["loss"].append(total.item())
    return seen, history


def fit_alternately(net, loader, optimizer):
    last = None
    for step, (x, y) in enumerate(loader):
        out = net(x)
        loss = F.cross_entropy(out, y) if step % 2 else out.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        last = loss
    return last.item()


if __name__ == "__main__":
    net, loader = nn.Linear(4, 3), [(torch.randn(6, 4), torch.arange(6) % 3)] * 2
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    print(fit(net, loader, sgd, True, 0.1), fit_alternately(net, loader, sgd))
