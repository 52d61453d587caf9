"""A layer keeps its weights unless who makes it says no."""

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, record=True):
        super().__init__()
        self.project = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        self.record = record
        self.weights = None

    def forward(self, x):
        weights = self.score(torch.tanh(self.project(x))).softmax(1)
        if self.record:
            self.weights = weights  # expect: TML103
        return (weights * x).sum(1)


def train(loader):
    model = Attention(8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model
