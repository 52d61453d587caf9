"""`enumerate` and `zip` hand a loop its losses: the graph is retained after the last one as well."""

import torch
from torch import nn


def numbered(losses, norms):
    for i, loss in enumerate(losses):
        loss.backward(retain_graph=True)  # expect: TML109
        norms.append(i)


def weighted(losses, weights):
    for weight, loss in zip(weights, losses):
        (weight * loss).backward(retain_graph=True)  # expect: TML109


if __name__ == "__main__":
    h = nn.Linear(3, 4)(torch.randn(2, 3)).tanh()
    numbered([h.mean(), h.std()], [])
    weighted([h.mean(), h.std()], [1.0, 0.5])
