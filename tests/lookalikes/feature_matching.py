"""Hooks and lists collect features of a network because a loss compares them."""

import torch
import torch.nn.functional as F
from torch import nn


class FeatureTap:
    def __init__(self, layers):
        self.features = []
        self.handles = [layer.register_forward_hook(self.hook) for layer in layers]

    def hook(self, module, inputs, output):
        self.features.append(output)

    def take(self):
        taken, self.features = self.features, []
        return taken


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 1)])

    def forward(self, x):
        fmap = []
        for layer in self.layers:
            x = F.leaky_relu(layer(x), 0.1)
            fmap.append(x)
        return x, fmap


def feature_loss(real, fake):
    loss = 0
    for r, f in zip(real, fake):
        loss += torch.mean(torch.abs(r.detach() - f))
    return loss


def generator_step(generator, discriminator, optimizer, noise, real):
    fake = generator(noise)
    score, fake_map = discriminator(fake)
    with torch.no_grad():
        _, real_map = discriminator(real)
    loss = feature_loss(real_map, fake_map) - score.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def distil(student, teacher, optimizer, x):
    ours, theirs = FeatureTap(student), FeatureTap(teacher)
    with torch.no_grad():
        teacher(x)
    student(x)
    loss = sum(F.huber_loss(a, b) for a, b in zip(ours.take(), theirs.take()))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for handle in ours.handles + theirs.handles:
        handle.remove()


if __name__ == "__main__":
    g, d = nn.Linear(2, 4), Discriminator()
    print(generator_step(g, d, torch.optim.SGD(g.parameters(), lr=0.1), torch.randn(3, 2), torch.randn(3, 4)))
    a, b = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    distil(a, b, torch.optim.SGD(a.parameters(), lr=0.1), torch.randn(3, 4))
