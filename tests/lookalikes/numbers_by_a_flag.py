"""Helpers that give a number or the loss itself, as a flag says: by an expression, a return, a new binding, a method."""

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
    loss = F.cross_entropy(net(x), y)
    return loss.item() if as_number else loss


def loss_by_return(net: Net, x, y, reduce="mean"):
    loss = F.cross_entropy(net(x), y, reduction="none")
    if reduce == "number":
        return loss.mean().item()
    return loss.mean()


def loss_by_name(net: Net, x, y, attached=True):
    loss = F.cross_entropy(net(x), y)
    if not attached:
        loss = float(loss)
    return loss


def shown(loss, as_number=True):
    if as_number:
        return loss.item()
    else:
        return loss


def parts(net: Net, x, y, as_number=False):
    logits = net(x)
    loss = F.cross_entropy(logits, y)
    return {"loss": loss.detach() if as_number else loss, "size": len(x)}


class Trainer:
    def __init__(self, net: Net):
        self.net = net
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        self.history = []

    def loss(self, x, y, as_number=False):
        loss = F.cross_entropy(self.net(x), y)
        return loss.item() if as_number else loss

    def fit(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            self.loss(x, y).backward()
            self.optimizer.step()
            with torch.no_grad():
                self.history.append(self.loss(x, y, as_number=True))


def train(net: Net, loader, optimizer):
    history = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = loss_of(net, x, y) + loss_by_return(net, x, y) + loss_by_name(net, x, y)
        loss.backward()
        optimizer.step()
        history.append(shown(loss))
        history.append(loss_of(net, x, y, True))
        history.append(loss_by_return(net, x, y, reduce="number"))
        history.append(loss_by_name(net, x, y, attached=False))
        history.append(parts(net, x, y, as_number=True))
    print(history)


def train_as_told(net: Net, loader, optimizer, flag, reduce):
    history = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = loss_of(net, x, y) + loss_by_return(net, x, y) + loss_by_name(net, x, y)
        loss.backward()
        optimizer.step()
        history.append(shown(loss, flag))
        history.append(loss_of(net, x, y, flag))
        history.append(loss_by_return(net, x, y, reduce))
        history.append(loss_by_name(net, x, y, attached=flag))
        history.append(parts(net, x, y, flag))
        history.append(loss.item() if flag else loss)
    print(history)
