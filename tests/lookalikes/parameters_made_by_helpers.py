"""Helpers make parameters, lists, dicts and copies of them: leaves that require grad, behind which nothing is recorded."""

import torch
from torch import nn


def master_copies(parameters):
    flat = torch.cat([p.detach().float().view(-1) for p in parameters])
    flat = nn.Parameter(flat)
    flat.requires_grad = True
    return [flat]


def one(count):
    return nn.Parameter(torch.zeros(count))


def wanting(count):
    return torch.zeros(count).requires_grad_()


def named(count):
    return {"scale": one(count), "shift": wanting(count)}


class Loop:
    def __init__(self, model):
        self.model = model
        self.parameters = list(model.parameters())
        self.copies = self.parameters
        self.table, self.rows, self.grown = {}, [], []

    def setup(self):
        self.copies = master_copies(self.parameters)
        self.table = named(3)
        self.rows = [one(3) for _ in range(4)]
        for i in range(100):
            self.grown.append(one(i))

    def step(self, batch):
        loss = self.model(batch).mean() + sum(row.sum() for row in self.rows) + self.table["scale"].sum()
        loss.backward()


def checked():
    m = torch.rand(10, 10)
    left = torch.sigmoid(m).log()
    right = m - nn.functional.softplus(m)
    assert torch.allclose(left, right, atol=1e-6)
