"""Deep copies of a network: trained by hand, frozen, or run without grad."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


def build():
    return nn.Sequential(nn.Flatten(), nn.Linear(3072, 1024), nn.ReLU(), nn.Linear(1024, 10))


def adapted_by_hand(tasks):
    net = build()
    fast = copy.deepcopy(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.03)
    for x, y in tasks:
        F.cross_entropy(fast(x), y).backward()
        with torch.no_grad():
            for p in fast.parameters():
                p -= 0.1 * p.grad
                p.grad = None
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def descend(net):
    with torch.no_grad():
        for p in net.parameters():
            p.sub_(0.1 * p.grad)


def adapted_by_a_helper(tasks):
    net = build()
    fast = copy.deepcopy(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.03)
    for x, y in tasks:
        F.cross_entropy(fast(x), y).backward()
        descend(fast)
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def frozen(labeled):
    net = build()
    teacher = copy.deepcopy(net)
    for p in teacher.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.SGD(net.parameters(), 0.03)
    for x, _ in labeled:
        loss = F.mse_loss(net(x), teacher(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for t, s in zip(teacher.parameters(), net.parameters()):
            t.data.mul_(0.99).add_(s.data, alpha=0.01)


def without_grad(labeled):
    net = build()
    teacher = copy.deepcopy(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.03)
    for x, _ in labeled:
        with torch.no_grad():
            target = teacher(x)
        loss = F.mse_loss(net(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for t, s in zip(teacher.parameters(), net.parameters()):
            t.data.mul_(0.99).add_(s.data, alpha=0.01)


def both(labeled):
    net = build()
    twin = copy.deepcopy(net)
    optimizer = torch.optim.SGD([*net.parameters(), *twin.parameters()], 0.03)
    for x, _ in labeled:
        loss = F.mse_loss(net(x), twin(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
