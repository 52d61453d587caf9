"""The submodule is made in `__init__` and called elsewhere."""

import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, 8)
        self.blocks = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        self.last_features = None

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = torch.relu(block(x))
        self.last_features = x  # expect: TML103
        return x


class Index:
    def __init__(self):
        self.backbone = Backbone()
        self.rows = []

    def add(self, loader):
        self.backbone.eval()
        for x in loader:
            codes = self.backbone(x)  # expect: TML201
            self.rows.append(codes.mean(0))  # expect: TML101

    def norms(self):
        return [row.norm().item() for row in self.rows]


def build(loader):
    index = Index()
    index.add(loader)
    return index.norms()


if __name__ == "__main__":
    print(build([torch.randn(5, 4)] * 2))
