"""Every meter of a dict is given a number, or takes one; the names in the loop are texts."""

import torch
import torch.nn as nn


class Total:
    def __init__(self):
        self.total, self.names = 0, []

    def update(self, value):
        self.total += value

    def take(self, name, value):
        self.names.append(name)
        self.total += value.item()


class Trainer:
    def __init__(self):
        self.net = nn.Linear(3, 3)
        self.opt = torch.optim.SGD(self.net.parameters(), 0.1)
        self.totals = {"train": Total(), "all": Total()}

    def step(self, x, y):
        out = self.net(x)
        loss = (out - y).abs().mean()
        score = (out - y).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        for meter in self.totals.values():
            meter.update(score.item())
        for name, meter in self.totals.items():
            meter.take(name, score)

    def fit(self, data):
        for x, y in data:
            self.step(x, y)
        return {name: meter.total for name, meter in self.totals.items()}
