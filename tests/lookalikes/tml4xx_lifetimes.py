"""Long functions whose names all have a use: read after the loop, by a closure, by another function, through a view."""

import torch
import torch.nn.functional as F
from torch import nn

bank = torch.randn(64, 16)


def nearest(rows):
    return (rows @ bank.T).argmax(dim=1)


def train(net, optimizer, data, held_out):
    with torch.no_grad():
        start = net(held_out).mean().item()
    table = held_out @ held_out.T
    rows = table[0]
    previous = None
    for x, y in data:
        out = net(x)
        loss = F.cross_entropy(out, y)
        if previous is not None:
            loss = loss + F.mse_loss(out, previous)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        previous = out.detach()
    return start, rows.sum().item(), nearest(held_out)


def alternate(nets, optimizers, data):
    first, second = nets
    for x in data:
        shared = first(x)
        for net, optimizer in zip((first, second), optimizers):
            loss = F.mse_loss(net(x), shared.detach()) + shared.square().mean()
            optimizer.zero_grad()
            loss.backward(retain_graph=True)
            optimizer.step()


def folds(rows, labels, count=3):
    scores = []
    for fold in range(count):
        model = nn.Linear(16, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        keep = torch.arange(len(rows)) % count != fold
        for _ in range(2):
            loss = F.cross_entropy(model(rows[keep]), labels[keep])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            scores.append((model(rows[~keep]).argmax(dim=1) == labels[~keep]).float().mean().item())
    return scores


def averaged(net, average, data, epochs=2):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(epochs):
        for x, y in data:
            loss = F.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        own = [p.data.clone() for p in net.parameters()]
        for p, mean in zip(net.parameters(), average.parameters()):
            p.data.copy_(mean.data)
        with torch.no_grad():
            score = net(bank).mean().item()
        for p, kept in zip(net.parameters(), own):
            p.data = kept
    return score


def drive():
    net = nn.Linear(16, 4)
    net.train()
    data = [(torch.randn(4, 16), torch.arange(4)) for _ in range(2)]
    with torch.no_grad():
        before = net(bank).mean()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1), data, bank)
    return before, folds(bank, torch.arange(64) % 2)
