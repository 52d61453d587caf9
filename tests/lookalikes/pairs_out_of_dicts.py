"""Loops over the pairs of a dict of results: keys carry no graph, numbers are taken, or just the members that are one."""

import torch
import torch.nn as nn


class Meter:
    def __init__(self):
        self.total, self.count = 0, 0

    def update(self, value, n=1):
        self.total += value * n
        self.count += n


class Log:
    def __init__(self):
        self.meters, self.order, self.labels = {}, [], {}

    def by_number(self, **values):
        for name, value in values.items():
            if isinstance(value, torch.Tensor):
                value = value.item()
            self.meters.setdefault(name, Meter()).update(value)

    def detached(self, values):
        for name, value in values.items():
            if torch.is_tensor(value):
                value = value.detach()
            self.meters.setdefault(name, Meter()).update(value)

    def all_but_the_loss(self, values):
        for name, value in values.items():
            if name == "loss":
                continue
            self.meters.setdefault(name, Meter()).update(value)

    def names(self, values):
        for name, value in values.items():
            self.order.append(name)
            self.labels[name] = name.upper()


def train(data):
    net = nn.Linear(3, 3)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    log = Log()
    for x, y in data:
        out = net(x)
        loss = (out - y).abs().mean()
        score = (out - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        log.by_number(score=score, loss=loss)
        log.detached({"score": score, "loss": loss})
        log.all_but_the_loss({"score": score.item(), "loss": loss})
        log.names({"score": score, "loss": loss})
    return log.order, {name: meter.total / meter.count for name, meter in log.meters.items()}
