"""Lists that hold layers, parameters, optimizers, configurations, callables."""

import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self, widths, dropout=0.0):
        super().__init__()
        layers = []
        for a, b in zip(widths, widths[1:]):
            layers.append(nn.Linear(a, b))
            layers += [nn.ReLU(), nn.Dropout(dropout)]
        self.model = nn.Sequential(*layers)
        self.norms = nn.ModuleList()
        for width in widths[1:]:
            self.norms.append(nn.LayerNorm(width))
        self.tables = nn.ParameterList()
        for width in widths:
            self.tables.append(nn.Parameter(torch.zeros(width)))

    def forward(self, x):
        return self.norms[-1](self.model(x)) + self.tables[-1]


def parameter_groups(model, decay):
    decayed, free = [], []
    for name, p in model.named_parameters():
        (decayed if p.ndim > 1 else free).append(p)
    return [{"params": decayed, "weight_decay": decay}, {"params": free, "weight_decay": 0.0}]


def ensemble(count):
    members, optimizers = [], {}
    for i in range(count):
        member = Stack([4, 8, 3])
        members.append(member)
        optimizers[i] = torch.optim.SGD(parameter_groups(member, 0.01), lr=0.1)
    return members, optimizers


class Registry:
    items = {}

    @classmethod
    def add(cls, model):
        cls.items[type(model).__name__] = model
        return model


if __name__ == "__main__":
    nets, _ = ensemble(2)
    print([net(torch.randn(2, 4)).shape for net in nets], Registry.add(nets[0]) is nets[0])
