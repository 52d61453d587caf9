"""The losses of several tasks are listed, and every so often one backward walks them all."""

import torch
import torch.nn.functional as F
from torch import nn


def meta_train(loader, tasks):
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses, done = [], 0
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        losses.append(loss)  # expect: TML504
        done += 1
        if done == tasks:
            total = torch.stack(losses).sum(0)
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            losses, done = [], 0
