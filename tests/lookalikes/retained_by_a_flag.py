"""A helper's flag retains a graph that another loss walks again, or that the caller gets back."""

import torch
from torch import nn


def optimise(optimizer, loss, retain=False):
    optimizer.zero_grad()
    loss.backward(retain_graph=retain)
    optimizer.step()


def shared(x):
    net, first, second = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
    h = net(x)
    optimise(torch.optim.SGD(first.parameters(), lr=0.1), first(h).mean(), retain=True)
    optimise(torch.optim.SGD(second.parameters(), lr=0.1), second(h).mean())


def adversaries(z, real):
    generator, critic = nn.Linear(3, 4), nn.Linear(4, 1)
    fake = generator(z)
    score = critic(fake).mean()
    optimise(torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1), score - critic(real).mean(), True)
    optimise(torch.optim.SGD(generator.parameters(), lr=0.1), -score)


def handed_back(x):
    net = nn.Linear(4, 1)
    loss = net(x).mean()
    optimise(torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1), loss, retain=True)
    return loss


def walked_on(x, keep):
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    loss = net(x).mean()
    optimise(optimizer, loss, retain=True)
    optimise(optimizer, loss, retain=keep)
    return loss.item()


if __name__ == "__main__":
    shared(torch.randn(2, 4))
    adversaries(torch.randn(2, 3), torch.randn(2, 4))
    handed_back(torch.randn(2, 4)).backward()
    walked_on(torch.randn(2, 4), False)
