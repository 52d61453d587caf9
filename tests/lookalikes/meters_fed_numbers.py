"""Meters and histories that only ever see Python numbers."""

from collections import defaultdict, deque

import torch
import torch.nn.functional as F
from torch import nn


class AverageMeter:
    def __init__(self):
        self.sum, self.count, self.values = 0.0, 0, []

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n
        self.values.append(value)


class SmoothedValue:
    def __init__(self, window=20):
        self.deque = deque(maxlen=window)
        self.total = 0.0

    def update(self, value):
        self.deque.append(value)
        self.total += value

    @property
    def median(self):
        return torch.tensor(list(self.deque)).median().item()


def train(model, optimizer, loader):
    meter, history, smooth = AverageMeter(), defaultdict(list), SmoothedValue()
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        value = loss.item()
        meter.update(value, len(x))
        smooth.update(loss.item())
        history["loss"].append(float(loss))
        history["lr"].append(optimizer.param_groups[0]["lr"])
    return meter.sum / meter.count, smooth.median, dict(history)


if __name__ == "__main__":
    net = nn.Linear(4, 3)
    batches = [(torch.randn(5, 4), torch.arange(5) % 3)] * 3
    print(train(net, torch.optim.SGD(net.parameters(), lr=0.1), batches))
