"""Teachers that are deep copies, updated as moving averages, whose targets a backward walks."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


def build():
    return nn.Sequential(nn.Flatten(), nn.Linear(3072, 1024), nn.ReLU(), nn.Linear(1024, 10))


def averaged_here(labeled, unlabeled):
    net = build()
    teacher = copy.deepcopy(net)  # expect: TML506
    optimizer = torch.optim.SGD(net.parameters(), 0.03)
    for (x, y), (other, _) in zip(labeled, unlabeled):
        target = F.softmax(teacher(other), 1)
        loss = F.cross_entropy(net(x), y) + F.mse_loss(F.softmax(net(other), 1), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for t, s in zip(teacher.parameters(), net.parameters()):
            t.data.mul_(0.99).add_(s.data, alpha=0.01)


@torch.no_grad()
def average(teacher, net, decay):
    for t, s in zip(teacher.parameters(), net.parameters()):
        t.mul_(decay).add_(s, alpha=1 - decay)


def averaged_by_a_helper(labeled, unlabeled):
    net = build()
    teacher = copy.deepcopy(net)  # expect: TML506
    optimizer = torch.optim.SGD(net.parameters(), 0.03)
    for (x, y), (other, _) in zip(labeled, unlabeled):
        target = F.softmax(teacher(other), 1)
        loss = F.cross_entropy(net(x), y) + F.mse_loss(F.softmax(net(other), 1), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average(teacher, net, 0.99)
