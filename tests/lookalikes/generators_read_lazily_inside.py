"""Generators that others go over lazily are read before no_grad is left."""

import torch
from torch import nn
from itertools import islice
from tqdm import tqdm


def outs(model, loader):
    for x in loader:
        yield model(x)


def a(model: nn.Module, loader):
    with torch.no_grad():
        gen = tqdm(outs(model, loader))
        return [o.argmax(-1) for o in gen]


def b(model: nn.Module, loader):
    with torch.no_grad():
        for i, o in enumerate(outs(model, loader)):
            print(i, o.sum())
        rows = list(islice(outs(model, loader), 3))
        pairs = list(zip(outs(model, loader), range(3)))
    return rows, pairs


def c(model: nn.Module, loader):
    with torch.no_grad():
        gen = islice(outs(model, loader), 3)
        first = [o.sum() for o in gen]
    return torch.stack(first)
