"""Modules that have no parameters record nothing of inputs that need no gradients."""

import torch
from torch import nn
from torch_geometric.nn import APPNP, LabelPropagation


def propagate(labels, adjacency, count):
    model = LabelPropagation(num_layers=3, alpha=0.9)
    y = torch.zeros(count, 10)
    y[labels] = 1.0
    out = model(y, adjacency)
    print(out.argmax(dim=-1))


def smooth(loader):
    propagation, pool = APPNP(K=10, alpha=0.1), nn.AvgPool1d(2)
    found = []
    for batch in loader:
        found.append(pool(propagation(torch.ones(4, 8), batch.edge_index)).sum().item())
    return found
