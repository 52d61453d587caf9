"""Every meter of a dict is given the score: the loop over `.values()` or `.items()` takes out objects of one class."""

import torch
import torch.nn as nn


class Total:
    def __init__(self):
        self.total, self.count = 0, 0

    def update(self, value):
        self.total += value
        self.count += 1


class Last:
    def __init__(self):
        self.kept = []

    def update(self, value):
        self.kept.append(value)


class Trainer:
    def __init__(self):
        self.net = nn.Linear(3, 3)
        self.opt = torch.optim.SGD(self.net.parameters(), 0.1)
        self.totals = {"train": Total(), "all": Total()}
        self.lists = {"train": Last()}

    def step(self, x, y):
        out = self.net(x)
        loss = (out - y).abs().mean()
        score = (out - y).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        for name, meter in self.totals.items():
            meter.update(score)  # expect: TML102
        for meter in self.lists.values():
            meter.update(score)  # expect: TML101

    def fit(self, data):
        for x, y in data:
            self.step(x, y)
        return float(self.totals["all"].total), len(self.lists["train"].kept)
