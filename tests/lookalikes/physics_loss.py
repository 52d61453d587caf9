"""Derivatives with respect to the input, also while evaluating."""

import torch
from torch import nn


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, t):
        return self.net(t)


def derivative(y, t):
    return torch.autograd.grad(y, t, torch.ones_like(y), create_graph=True)[0]


def residual(model, t):
    t = t.requires_grad_(True)
    u = model(t)
    du = derivative(u, t)
    return derivative(du, t) + u


def train(model, optimizer, points):
    terms = []
    for t in points.split(8):
        terms.append(residual(model, t.clone()).square().mean())
    loss = torch.stack(terms).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def forces(model, t):
    model.eval()
    t = t.detach().requires_grad_(True)
    energy = model(t).sum()
    return -torch.autograd.grad(energy, t)[0]


if __name__ == "__main__":
    net = Field()
    grid = torch.linspace(0, 1, 16).unsqueeze(1)
    print(train(net, torch.optim.Adam(net.parameters()), grid), forces(net, grid).shape)
