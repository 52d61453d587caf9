"""A trainer keeps an output on one attribute and the loss of it on another, whose backward another method runs: it frees
what the graph of both holds."""

import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.net = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 1, 3))
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def forward_train(self, x, target):
        self.d0 = self.net(x)
        self.loss = ((self.d0 - target) ** 2).mean(dim=(1, 2, 3))
        return self.loss

    def optimize(self, x, target):
        self.forward_train(x, target)
        self.optimizer.zero_grad()
        self.backward_train()
        self.optimizer.step()

    def backward_train(self):
        torch.mean(self.loss).backward()

    def error(self):
        return self.d0.detach().abs().mean().item()


def main(loader):
    trainer = Trainer()
    for x, target in loader:
        trainer.optimize(x, target)
        print(trainer.error())
