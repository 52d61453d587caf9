"""A forward fills a list and returns it, alone, beside another result or in a dict: its members bring their graphs along."""

import torch
from torch import nn


class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(3, 3, 3, padding=1) for _ in range(4)])

    def forward(self, x):
        levels = []
        for layer in self.layers:
            x = layer(x)
            levels.append(x)
        return levels

    def with_last(self, x):
        levels = []
        for layer in self.layers:
            x = layer(x)
            levels.append(x)
        return {"last": x.detach(), "levels": levels}


def show(loader):
    net = Pyramid()
    kept, first = [], []
    for x in loader:
        levels = net(x)
        kept.append(levels[-1])  # expect: TML101
        named = net.with_last(x)
        first.append(named["levels"])  # expect: TML101
    print(len(kept), len(first))


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())

    def forward(self, x):
        found = []
        for layer in self.backbone:
            x = layer(x)
            found.append(x)
        return found


def transfer(image, content):
    target = image.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([target], lr=0.003)
    vgg = Features().eval()  # expect: TML506
    for _ in range(2000):
        loss = 0
        for mine, other in zip(vgg(target), vgg(content)):
            loss = loss + (mine - other).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
