"""Modules that run once on made-up input: to make lazy parameters, to compare results in assertions."""

import torch
from torch import nn


def trained(make, loader, device):
    model = make().to(device)
    model.eval()
    model(torch.rand(32, 8, device=device))
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def assert_same(module: nn.Module, x, layouts):
    expected = module(x)
    for layout in layouts:
        out = module(x.to_sparse(layout))
        assert torch.allclose(out, expected)
    return expected


def check(make):
    for size in (1, 2):
        assert_same(make(size), torch.ones(size, 4), (torch.sparse_csr,))


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(1, 1, 3) for _ in range(3))
        self.width = self.output_width(16)

    def output_width(self, width):
        x = torch.randn(1, 1, 16, width)
        for i, _ in enumerate(self.layers):
            x = self.layers[i](x)
        return x.size(-1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
