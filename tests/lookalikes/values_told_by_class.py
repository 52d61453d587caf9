"""What is no tensor, by its class, a pattern or a method that it lacks, keeps no graph."""

import torch
from torch import nn


class Average:
    def __init__(self):
        self.values = []

    def by_pattern(self, value):
        match value:
            case torch.Tensor():
                self.values.append(value.item())
            case float() | int():
                self.values.append(value)

    def by_rest(self, value):
        match value:
            case torch.Tensor() as tensor:
                self.values.append(tensor.item())
            case number:
                self.values.append(number)

    def by_class(self, value):
        if type(value) is torch.Tensor:
            value = value.item()
        self.values.append(value)

    def by_classes(self, value):
        if type(value) in (int, float):
            self.values.append(value)

    def by_union(self, value):
        if isinstance(value, int | float):
            self.values.append(value)

    def by_error(self, value):
        try:
            value = value.item()
        except AttributeError:
            pass
        self.values.append(value)


def fit(net: nn.Module, loader, opt):
    average = Average()
    for x, y in loader:
        out = net(x)
        score = (out - y).abs().mean()
        opt.zero_grad()
        (out - y).pow(2).mean().backward()
        opt.step()
        average.by_pattern(score)
        average.by_rest(score)
        average.by_class(score)
        average.by_classes(score)
        average.by_union(score)
        average.by_error(score)
    return average
