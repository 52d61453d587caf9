"""A loop in a base class, under no_grad or clearing before each step, runs what only its heirs have."""

import torch
from torch import nn


class Evaluation:
    def run(self, batches):
        with torch.no_grad():
            for batch in batches:
                self.step(batch)
        return self.total


class Scoring(Evaluation):
    def __init__(self):
        self.net = nn.Linear(4, 2)
        self.total = 0.0

    def step(self, batch):
        self.total += self.net(batch).softmax(-1).amax().item()


class Training:
    def run(self, batches):
        for batch in batches:
            self.optimizer.zero_grad()
            self.update(batch)
        return len(batches)


class Fitting(Training):
    def __init__(self):
        self.net = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def update(self, batch):
        self.net(batch).pow(2).mean().backward()
        self.optimizer.step()


class Other:
    def __init__(self):
        self.net = nn.Linear(4, 2)

    def step(self, batch):
        return self.net(batch)


def tuned(other, batch):
    other.step(batch).sum().backward()


if __name__ == "__main__":
    data = [torch.randn(3, 4)] * 3
    print(Scoring().run(data) > 0, Fitting().run(data))
    tuned(Other(), data[0])
