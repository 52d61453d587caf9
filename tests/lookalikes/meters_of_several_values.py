"""A meter behind an alias of the module takes several values, which a set does not, and keeps numbers."""

from torch import nn
import sys
import torch


d2l = sys.modules[__name__]


class Accumulator:
    def __init__(self, n):
        self.data = [0.0] * n

    def add(self, *args):
        self.data = [a + float(b) for a, b in zip(self.data, args)]

    def __getitem__(self, idx):
        return self.data[idx]


def train(net, data_iter, loss, trainer, epochs):
    for epoch in range(epochs):
        metric = d2l.Accumulator(2)
        for X, y in data_iter:
            y_hat = net(X)
            l = loss(y_hat, y)
            l.backward()
            trainer.step()
            metric.add(l.sum(), d2l.accuracy(y_hat, y))
        print(metric[0] / metric[1])


def evaluate(net, data_iter):
    net.eval()
    metric = d2l.Accumulator(2)
    with torch.no_grad():
        for X, y in data_iter:
            metric.add(d2l.accuracy(net(X), y), d2l.size(y))
    return metric[0] / metric[1]
