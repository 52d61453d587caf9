"""One function trains and evaluates: each caller that leaves the backward out has grad off, or needs the loss."""

import torch
import torch.nn.functional as F
from torch import nn


def run_epoch(model, loader, optimizer=None):
    total = 0.0
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item()
    return total


def fit(model, loader, optimizer):
    run_epoch(model, loader, optimizer)
    with torch.no_grad():
        return run_epoch(model, loader)


def by_mode(model, criterion, loader, optimizer, train):
    total = 0.0
    for x, y in loader:
        with torch.set_grad_enabled(train):
            out = model(x)
        loss = criterion(out, y)
        if train:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item()
    return total


def alternate(model, loader, optimizer):
    criterion = nn.CrossEntropyLoss()
    by_mode(model, criterion, loader, optimizer, True)
    return by_mode(model, criterion, loader, optimizer, False)


def loss_of(model, x, y, backward=True):
    loss = F.cross_entropy(model(x), y)
    if backward:
        loss.backward()
    return loss


def two_losses(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        (loss_of(model, x, y, backward=False) + loss_of(model, -x, y, backward=False)).backward()
        optimizer.step()


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 2
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    print(fit(net, data, sgd), alternate(net, data, sgd), two_losses(net, data, sgd))
