"""Scores come from helpers that return numbers: by a variable, by two returns, by annotation, by a method."""

import torch
import torch.nn.functional as F
from torch import nn


def accuracy(logits, y):
    hits = (logits.argmax(1) == y).float().mean()
    value = hits.item()
    return value


def rounded_loss(logits, y):
    if len(y) == 0:
        return 0.0
    return round(float(F.cross_entropy(logits, y)), 4)


def psnr(a: torch.Tensor, b: torch.Tensor) -> float:
    error = (a - b).square().mean()
    return (-10 * error.log10()).item()


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.history = []

    def step(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, loader):
        total = 0.0
        for x, y in loader:
            loss = self.step(x, y)
            self.history.append(loss)
            total += loss
        return total


def report(model, optimizer, loader):
    accs, losses, noise = [], [], []
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accs.append(accuracy(out, y))
        losses.append(rounded_loss(out, y))
        noise.append(psnr(out, torch.zeros_like(out)))
    return accs, losses, noise


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 2
    trainer = Trainer(net)
    print(trainer.fit(data), report(net, trainer.optimizer, data))
