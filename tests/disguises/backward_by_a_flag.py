"""One function trains and evaluates: the calls that leave the backward out record the forward all the same."""

import torch
import torch.nn.functional as F
from torch import nn


class Trainer:
    def __init__(self, net, train_data, test_data):
        self.model = net
        self.train_data, self.test_data = train_data, test_data
        self.optim = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def train(self):
        return self.iteration(self.train_data)

    def test(self):
        return self.iteration(self.test_data, train=False)

    def iteration(self, loader, train=True):
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(self.model(x), y)  # expect: TML201
            if train:
                self.optim.zero_grad()
                loss.backward()
                self.optim.step()
            total += loss.item()
        return total


def run_epoch(model, loader, optimizer=None):
    total = 0.0
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)  # expect: TML201
        total += loss.item()
        if optimizer is None:
            continue
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return total


def fit(model, loader, optimizer):
    run_epoch(model, loader, optimizer)
    return run_epoch(model, loader)


def step(model, x, y, mode):
    loss = F.cross_entropy(model(x), y)  # expect: TML201
    if mode == "train":
        loss.backward()
    return loss.item()


def both(model, loader):
    return [step(model, x, y, "train") + step(model, x, y, "val") for x, y in loader]


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 2
    trainer = Trainer(net, data, data)
    print(trainer.train(), trainer.test(), fit(net, data, trainer.optim), both(net, data))
