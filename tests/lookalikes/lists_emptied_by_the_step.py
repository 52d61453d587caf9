"""A list is filled in a loop and, where the step empties it, bound anew: the first one is read until then."""

import torch
import torch.nn.functional as F
from torch import nn


def meta_train(loader, tasks):
    model = nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for i, (x, y) in enumerate(loader):
        losses.append(F.cross_entropy(model(x), y))
        if i % tasks == 0:
            total = torch.stack(losses).sum(0)
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            losses = []
