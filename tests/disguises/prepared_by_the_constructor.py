"""A constructor that calls its own `reset_parameters` or `build` makes what it holds no less known."""

import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.weight = nn.Parameter(torch.empty(size, size))
        self.build()
        self.reset_parameters()

    def build(self):
        self.head = nn.Linear(self.size, self.size)
        self.seen = []

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        y = self.head(x @ self.weight)
        self.seen.append(y)  # expect: TML103
        return y


def train(loader):
    model = Memory(8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        optimizer.zero_grad()
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
