"""Gradients turned off by a switch, a named guard, a stack, a tuple of contexts, a conditional context."""

import contextlib

import torch
import torch.nn.functional as F
from torch import nn


def by_switch(model, loader):
    torch.set_grad_enabled(False)
    model.eval()
    total = 0.0
    for x, y in loader:
        total += F.cross_entropy(model(x), y)
    torch.set_grad_enabled(True)
    return float(total)


def by_guard(model, loader):
    model.eval()
    guard = torch.no_grad()
    outputs = []
    with guard:
        for x, _ in loader:
            outputs.append(model(x).argmax(1).cpu())
    return torch.cat(outputs)


def by_stack(model, loader):
    model.eval()
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        return sum(F.cross_entropy(model(x), y) for x, y in loader).item()


def by_pair(model, x):
    model.eval()
    with torch.autocast("cpu", enabled=False), torch.no_grad():
        return model(x).argmax(1).tolist()


def by_flag(model, loader, optimizer=None):
    training = optimizer is not None
    model.train(training)
    total = 0.0
    for x, y in loader:
        with torch.set_grad_enabled(training):
            loss = F.cross_entropy(model(x), y)
        if training:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item()
    return total


def entered_by_hand_within(model: nn.Module, loader):
    """What is left by hand gives back the mode that was there before it, not the function's own."""
    outputs = []
    with torch.no_grad():
        guard = torch.enable_grad()
        guard.__enter__()
        guard.__exit__(None, None, None)
        for x in loader:
            outputs.append(model(x))
    return outputs


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 2
    print(by_switch(net, data), by_guard(net, data), by_stack(net, data), by_pair(net, data[0][0]))
    print(by_flag(net, data), by_flag(net, data, torch.optim.SGD(net.parameters(), lr=0.1)))
