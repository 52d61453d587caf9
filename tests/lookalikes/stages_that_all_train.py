"""Stages of which each trains, is told apart by something out of sight, or sets the grad mode itself."""

from enum import Enum

import torch
import torch.nn.functional as F
from torch import nn


class Stage(Enum):
    TRAIN = "train"
    TUNE = "tune"
    TEST = "test"


class Setting:
    first = "a"
    second = "a"


class Trainer:
    def __init__(self, net):
        self.net = net
        self.optim = torch.optim.SGD(net.parameters(), lr=0.1)

    def _update(self, loss):
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()

    def both(self, stage, loader):
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(self.net(x), y)
            if stage in (Stage.TRAIN, Stage.TUNE):
                self._update(loss)
            total += loss.item()
        return total

    def switched(self, stage, loader):
        total = 0.0
        for x, y in loader:
            with torch.set_grad_enabled(stage is Stage.TRAIN):
                loss = F.cross_entropy(self.net(x), y)
            if stage is Stage.TRAIN:
                self._update(loss)
            total += loss.item()
        return total

    def fit(self, loader):
        found = [self.both(Stage.TRAIN, loader), self.both(Stage.TUNE, loader)]
        with torch.no_grad():
            found.append(self.both(Stage.TEST, loader))
        return [*found, self.switched(Stage.TRAIN, loader), self.switched(Stage.TEST, loader)]


def step(net, batch, setting):
    loss = F.cross_entropy(net(batch[0]), batch[1])
    if setting == Setting.first:
        loss.backward()
    return loss.item()


def named(net, batch, name, updates=("train", "tune")):
    loss = F.cross_entropy(net(batch[0]), batch[1])
    if name in updates:
        loss.backward()
    return loss.item()


def main():
    net, loader = nn.Linear(4, 3), [(torch.randn(6, 4), torch.arange(6) % 3)] * 3
    print(Trainer(net).fit(loader))
    print(step(net, loader[0], Setting.second), named(net, loader[0], "tune"))


if __name__ == "__main__":
    main()
