"""Objects without annotations that are no modules, and copies that are used as they are."""

import torch
import torch.nn.functional as F
from torch import nn


def scheduler_state(scheduler, path):
    state = torch.load(path, map_location="cuda")
    scheduler.load_state_dict(state)


def called_only(transform, loader):
    return [transform(x) for x in loader]


def captured(graph, net, optimizer, x):
    optimizer.zero_grad(set_to_none=False)
    with torch.cuda.graph(graph):
        net(x).sum().backward()
        optimizer.step()


def compared(model, loader, optimizer):
    model = model.cuda()
    before = [p.detach().clone() for p in model.parameters()]
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
    return [torch.equal(a, b) for a, b in zip(before, model.parameters())]


def one_at_a_time(model, batches, optimizer, every):
    for i, (x, y) in enumerate(batches):
        (F.mse_loss(model(x), y) / every).backward()
        if (i + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()


def recurrent_total(cell, steps, optimizer):
    state, total = None, 0
    for x, y in steps:
        out, state = cell(x, state)
        total = total + F.mse_loss(out, y)
    total.backward()
    optimizer.step()


class FrozenFeatureLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 3, 3), nn.ReLU())[:1].eval()
        for p in self.net.parameters():
            p.requires_grad = False

    def forward(self, x, y):
        return (self.net(x) - self.net(y).detach()).abs().mean()


def perceptual(generator, loader):
    criterion = FrozenFeatureLoss()
    optimizer = torch.optim.Adam(generator.parameters())
    for x, y in loader:
        loss = criterion(generator(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
