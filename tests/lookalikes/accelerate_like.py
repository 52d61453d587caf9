"""Other spellings of backward: a manual backward, an accelerator, a fabric, a scaler."""

import torch
import torch.nn.functional as F
from torch import nn


class Accelerator:
    def backward(self, loss):
        loss.backward()


class Manual(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3)
        self.losses = []

    def manual_backward(self, loss):
        loss.backward()

    def training_step(self, batch):
        x, y = batch
        for part, label in zip(x.chunk(2), y.chunk(2)):
            self.losses.append(F.cross_entropy(self.net(part), label))
        self.manual_backward(sum(self.losses))
        self.losses.clear()


def accelerated(model, optimizer, accelerator, loader):
    for x, y in loader:
        terms = []
        for shift in range(2):
            terms.append(F.cross_entropy(model(x.roll(shift, 0)), y.roll(shift, 0)))
        optimizer.zero_grad()
        accelerator.backward(torch.stack(terms).mean())
        optimizer.step()


def by_autograd(model, x, y):
    losses = [F.cross_entropy(model(x), y)]
    losses.append(model(x).square().mean())
    torch.autograd.backward(losses)


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(6, 4), torch.arange(6) % 3)] * 2
    accelerated(net, torch.optim.SGD(net.parameters(), lr=0.1), Accelerator(), data)
    Manual().training_step(data[0])
    by_autograd(net, *data[0])
