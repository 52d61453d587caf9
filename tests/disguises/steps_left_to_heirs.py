"""A loop in a base class runs a step that only its heirs have."""

import torch
from torch import nn


class Loop:
    def __init__(self):
        self.count = 0

    def run(self, batches):
        for batch in batches:
            self.step(batch)
            self.count += 1


class Scoring(Loop):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)
        self.total = 0.0

    def step(self, batch):
        self.total += self.net(batch).softmax(-1).amax().item()  # expect: TML201


class Cleaning(Loop):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def step(self, batch):
        loss = self.net(batch).pow(2).mean()
        self.optimizer.zero_grad()  # expect: TML502
        loss.backward()
        self.optimizer.step()


if __name__ == "__main__":
    data = [torch.randn(3, 4)] * 3
    scoring, cleaning = Scoring(), Cleaning()
    scoring.run(data)
    cleaning.run(data)
    print(scoring.count, cleaning.count)
