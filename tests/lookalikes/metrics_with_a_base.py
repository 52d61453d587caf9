"""Metrics that are called as objects and keep numbers, detached values or nothing; those whose base detaches for them."""

import torch
import torch.nn.functional as F
from torch import nn


class Metric:
    def __call__(self, *args):
        self.update(*args)


class Detaching:
    def __call__(self, out, target):
        self.update(out.detach().cpu(), target.cpu())


class Quality(Detaching):
    def __init__(self):
        self.values = []

    def update(self, out, target):
        self.values.append(torch.log10((out - target).pow(2).flatten(1).mean(1)))


class Mean(Metric):
    def __init__(self):
        self.total, self.rows, self.values = 0.0, 0, []

    def update(self, out, target):
        error = torch.sqrt((out - target).pow(2).mean())
        self.total += error.item() * len(out)
        self.rows += len(out)
        self.values.append(error.detach().cpu())


class Penalty(Metric):
    def __init__(self):
        self.terms = []

    def update(self, out, target):
        self.terms.append(torch.abs(out).mean())

    def pop(self):
        terms, self.terms = self.terms, []
        return torch.stack(terms).sum()


class Trainer:
    def __init__(self, net):
        self.net = net
        self.optimizer = torch.optim.Adam(net.parameters())
        self.quality, self.mean, self.penalty = Quality(), Mean(), Penalty()

    def step(self, x, y):
        out = self.net(x)
        self.penalty(out, y)
        loss = F.l1_loss(out, y) + self.penalty.pop()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.quality(out, y)
        self.mean(out, y)

    @torch.no_grad()
    def evaluate(self, x, y):
        self.mean(self.net(x), y)


if __name__ == "__main__":
    trainer = Trainer(nn.Linear(3, 3))
    trainer.step(torch.randn(4, 3), torch.randn(4, 3))
    print(len(trainer.quality.values), trainer.mean.total, len(trainer.penalty.terms))
