"""One function for all stages, which are members of an enumeration or stand in a list of texts."""

import enum
from enum import Enum

import torch
import torch.nn.functional as F
from torch import nn


class Stage(Enum):
    TRAIN = "train"
    TUNE = "tune"
    TEST = "test"


class Phase(enum.IntEnum):
    FIT = 0
    CHECK = 1


class Trainer:
    def __init__(self, net):
        self.net = net
        self.optim = torch.optim.SGD(net.parameters(), lr=0.1)

    def run(self, stage, loader):
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(self.net(x), y)  # expect: TML201
            if stage in (Stage.TRAIN, Stage.TUNE):
                self.optim.zero_grad()
                loss.backward()
                self.optim.step()
            total += loss.item()
        return total

    def fit(self, loader):
        return self.run(Stage.TRAIN, loader), self.run(Stage.TUNE, loader), self.run(Stage.TEST, loader)


def step(net, batch, phase=Phase.CHECK):
    loss = F.cross_entropy(net(batch[0]), batch[1])  # expect: TML201
    if phase is not Phase.FIT:
        return loss.item()
    loss.backward()
    return loss.item()


def turn(net, batch, name):
    loss = F.cross_entropy(net(batch[0]), batch[1])  # expect: TML201
    if name not in ["val", "test"]:
        loss.backward()
    return loss.item()


def main():
    net, loader = nn.Linear(4, 3), [(torch.randn(6, 4), torch.arange(6) % 3)] * 3
    print(Trainer(net).fit(loader))
    print(step(net, loader[0], Phase.FIT), step(net, loader[0]))
    print(turn(net, loader[0], "train"), turn(net, loader[0], "val"))


if __name__ == "__main__":
    main()
