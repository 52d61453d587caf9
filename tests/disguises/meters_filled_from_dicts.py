"""A helper goes over a dict of results that it is given and hands each to a meter; the meter keeps the graphs."""

import torch
import torch.nn as nn


class Meter:
    def __init__(self):
        self.total, self.count = 0, 0

    def update(self, value, n=1):
        self.total += value * n  # expect: TML102
        self.count += n


class Trainer:
    def __init__(self, names):
        self.net = nn.Linear(3, 3)
        self.opt = torch.optim.SGD(self.net.parameters(), 0.1)
        self.meters = {name: Meter() for name in names}

    def step(self, x, y):
        out = self.net(x)
        loss = (out - y).abs().mean()
        score = (out - y).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.record({"score": score})

    def record(self, values):
        for name, value in values.items():
            self.meters[name].update(value)

    def fit(self, data):
        for x, y in data:
            self.step(x, y)
        return {name: float(meter.total) / meter.count for name, meter in self.meters.items()}
