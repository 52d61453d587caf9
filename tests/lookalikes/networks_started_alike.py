"""Networks that start with another one's weights: trained too, by an optimizer of their own or through the gradients that
are copied over; targets that are only read without grad."""

import torch
import torch.nn.functional as F
from torch import nn


class Values(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)


def step(net, batch, optimizer):
    loss = net(batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def twins(batches):
    first, second = Values(), Values()
    second.load_state_dict(first.state_dict())
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()])
    for batch in batches:
        step(first, batch, optimizer)
        step(second, batch, optimizer)


def local_epoch(net, batches):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        step(net, batch, optimizer)
    return [p.detach().clone() for p in net.parameters()]


def federated(clients, probe):
    server, client = Values(), Values()
    optimizer = torch.optim.SGD(server.parameters(), lr=0.1)
    for batches in clients:
        client.load_state_dict(server.state_dict())
        print(len(local_epoch(client, batches)))
    step(server, probe, optimizer)


def backward(net, batch):
    net(batch).square().mean().backward()


def copy_gradients(net, shared):
    for mine, theirs in zip(net.parameters(), shared.parameters()):
        theirs.grad = mine.grad


def worker(batches):
    shared, net = Values(), Values()
    optimizer = torch.optim.Adam(shared.parameters())
    for batch in batches:
        net.load_state_dict(shared.state_dict())
        net.zero_grad()
        backward(net, batch)
        copy_gradients(net, shared)
        optimizer.step()


def learn(values, target, batches, optimizer):
    for s, a, r, s_next in batches:
        with torch.no_grad():
            best = target(s_next).max(1)[0].unsqueeze(1)
        loss = F.smooth_l1_loss(values(s).gather(1, a), r + 0.98 * best)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def lagging(batches):
    values, target = Values(), Values()
    target.load_state_dict(values.state_dict())
    optimizer = torch.optim.Adam(values.parameters())
    learn(values, target, batches, optimizer)


def load_first(path):
    """The module is moved behind the restore, whose copy goes with the function that made it."""
    pair = Pair()
    pair.resume(path)
    pair.cuda()
    return pair


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = nn.Linear(4, 4)

    def resume(self, path):
        state = torch.load(path)
        self.generator.load_state_dict(state["generator"])
