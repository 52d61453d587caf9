"""A metric is called as an object: its base hands what it is given to the method that the metric's own class has, which keeps
what it computes from that."""

import torch
import torch.nn.functional as F
from torch import nn


class Metric:
    def __init__(self):
        self.defaults = {}

    def add_state(self, name, default):
        self.defaults[name] = default
        setattr(self, name, default)

    def __call__(self, *args):
        self.update(*args)


class Quality(Metric):
    def __init__(self):
        super().__init__()
        self.add_state("values", [])

    def update(self, out, target):
        error = (out - target).pow(2).flatten(1).mean(1)
        self.values.append(-10 * torch.log10(error + 1e-8))

    def compute(self):
        return torch.cat(self.values).mean().item()


class Counted(Metric):
    def __init__(self):
        super().__init__()
        self.rows = 0

    def update(self, out, target):
        self.rows += len(out)


class Spread:
    def __init__(self):
        self.values = []

    def __call__(self, out):
        self.values.append(torch.sqrt(out.var(1)))


class Trainer:
    def __init__(self, net):
        self.net = net
        self.optimizer = torch.optim.Adam(net.parameters())
        self.quality, self.counted, self.spread = Quality(), Counted(), Spread()

    def step(self, x, y):
        out = self.net(x)
        loss = F.l1_loss(out, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.quality(out, y)  # expect: TML101
        self.counted(out, y)
        self.spread(out)  # expect: TML101


if __name__ == "__main__":
    trainer = Trainer(nn.Linear(3, 3))
    trainer.step(torch.randn(4, 3), torch.randn(4, 3))
    print(trainer.quality.compute(), trainer.counted.rows, len(trainer.spread.values))
