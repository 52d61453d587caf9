"""Helpers that give a number or the loss itself, called for the loss: by default, by a literal, by name."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)


def loss_of(net: Net, x, y, as_number=False):
    loss = F.cross_entropy(net(x), y)  # expect: TML201
    return loss.item() if as_number else loss


def loss_by_return(net: Net, x, y, reduce="mean"):
    loss = F.cross_entropy(net(x), y, reduction="none")  # expect: TML201
    if reduce == "number":
        return loss.mean().item()
    return loss.mean()


def loss_by_name(net: Net, x, y, attached=True):
    loss = F.cross_entropy(net(x), y)  # expect: TML201
    if not attached:
        loss = float(loss)
    return loss


def shown(loss, as_number=True):
    return loss.item() if as_number else loss


def evaluate(net: Net, loader):
    net.eval()
    history, total = [], 0.0
    for x, y in loader:
        history.append(loss_of(net, x, y))  # expect: TML101, TML201
        history.append(loss_of(net, x, y, as_number=False))  # expect: TML101
        history.append(loss_by_return(net, x, y, reduce="mean"))  # expect: TML101
        history.append(loss_by_name(net, x, y))  # expect: TML101
        history.append(shown(F.cross_entropy(net(x), y), False))  # expect: TML101
        total += loss_of(net, x, y)  # expect: TML102
    print(history, total)
