"""A function or method of the project stores what it is given: the finding is at the call that hands the graph over."""

import torch
import torch.nn.functional as F
from torch import nn


def record(history, name, value):
    history.setdefault(name, []).append(value)  # allow: TML101


class Board:
    def __init__(self):
        self.values = []

    def log(self, value):
        self.values.append(value)

    def mean(self):
        return float(sum(self.values)) / len(self.values)


class Average:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def add(self, value, n):
        self.sum = self.sum + n * value
        self.count += n


def train(model, optimizer, loader):
    history, board, averages = {}, Board(), {"margin": Average()}
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        margin = out.softmax(1).amax(1).mean()
        record(history, "margin", margin)  # expect: TML101
        record(history, "loss", loss.item())
        board.log(margin)  # expect: TML101
        averages["margin"].add(margin, len(x))  # expect: TML102
    mean = averages["margin"]
    return [float(v) for v in history["margin"]], board.mean(), float(mean.sum) / mean.count


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 3
    print(train(net, torch.optim.SGD(net.parameters(), lr=0.1), data))
