"""Encoder outputs are kept for the decoder of the same forward."""

import torch
from torch import nn


class DoubleConv(nn.Sequential):
    def __init__(self, a, b):
        super().__init__(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.Conv2d(b, b, 3, padding=1))


class UNet(nn.Module):
    def __init__(self, width=4, depth=2):
        super().__init__()
        sizes = [width * 2**i for i in range(depth + 1)]
        self.inp = DoubleConv(3, width)
        self.down = nn.ModuleList(DoubleConv(a, b) for a, b in zip(sizes, sizes[1:]))
        self.up = nn.ModuleList(DoubleConv(a + b, a) for a, b in reversed(list(zip(sizes, sizes[1:]))))
        self.pool = nn.MaxPool2d(2)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        x = self.inp(x)
        skips = []
        for block in self.down:
            skips.append(x)
            x = block(self.pool(x))
        for block, skip in zip(self.up, reversed(skips)):
            x = nn.functional.interpolate(x, scale_factor=2)
            x = block(torch.cat([x, skip], dim=1))
        return self.out(x)


class DenseBlock(nn.Module):
    def __init__(self, width, growth, layers):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(width + i * growth, growth, 3, padding=1) for i in range(layers))

    def forward(self, x):
        features = [x]
        for layer in self.layers:
            features.append(torch.relu(layer(torch.cat(features, dim=1))))
        return torch.cat(features, dim=1)


if __name__ == "__main__":
    image = torch.randn(1, 3, 16, 16)
    UNet()(image).mean().backward()
    print(DenseBlock(3, 2, 3)(image).shape)
