"""Assigning to a statistic adds a value to its list: the object's own `__setitem__` collects."""

import torch
import torch.nn as nn


class Statistics:
    def __init__(self, names):
        self.values = {name: [] for name in names}

    def __setitem__(self, name, value):
        self.values[name].append(value)

    def last(self):
        return {name: float(values[-1]) for name, values in self.values.items()}


class Latest:
    def __init__(self):
        self.values = {}

    def __setitem__(self, name, value):
        self.values[name] = float(value)


def train(data):
    net = nn.Linear(3, 3)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    statistics, latest = Statistics(["score"]), Latest()
    for x, y in data:
        out = net(x)
        loss = (out - y).abs().mean()
        score = (out - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        statistics["score"] = score  # expect: TML101
        latest["score"] = score
    return statistics.last(), latest.values
