"""Functions with their first arguments bound, and methods as values: the callee is the same as in a plain call."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import nn


def keep(history, name, value):
    history.setdefault(name, []).append(value)


class Log:
    def __init__(self):
        self.rows = []

    def write(self, value):
        self.rows.append(value)

    def total(self):
        return sum(float(v) for v in self.rows)


def train(model, optimizer, loader):
    history, log = {}, Log()
    record = partial(keep, history, "margin")
    write = log.write
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        margin = out.softmax(1).amax(1).mean()
        record(margin)  # expect: TML101
        write(margin)  # expect: TML101
    return log.total() + sum(float(v) for v in history["margin"])


if __name__ == "__main__":
    net = nn.Linear(4, 3)
    data = [(torch.randn(6, 4), torch.arange(6) % 3)] * 2
    print(train(net, torch.optim.SGD(net.parameters(), lr=0.1), data))
