"""Losses in a record of a record: a method of the inner one sums them, the backward frees them."""

from dataclasses import dataclass, field
import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class Terms:
    cls: torch.Tensor
    box: torch.Tensor

    def sum(self):
        return self.cls + self.box


@dataclass
class Out:
    terms: Terms
    logits: torch.Tensor
    info: dict = field(default_factory=dict)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 4)

    def forward(self, x, y):
        logits = self.net(x)
        return Out(Terms(F.cross_entropy(logits, y), logits.abs().mean()), logits, {"n": len(x)})


def fit(model: Model, loader, opt):
    cls, box, n = [], 0.0, 0
    for x, y in loader:
        out = model(x, y)
        loss = out.terms.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        cls.append(out.terms.cls.item())
        box += float(out.terms.box)
        n += out.info["n"]
    return cls, box, n


def fit2(model: Model, loader, opt):
    cls = []
    for x, y in loader:
        out = model(x, y)
        opt.zero_grad()
        (out.terms.cls + out.terms.box).backward()
        opt.step()
        cls.append(out.terms.cls)
    return torch.stack(cls).mean().item()


def fit3(model: Model, loader, opt):
    cls = []
    for x, y in loader:
        terms = model(x, y).terms
        opt.zero_grad()
        terms.sum().backward()
        opt.step()
        cls.append(terms.cls)
    return torch.stack(cls).mean().item()


def fit4(net: nn.Module, loader, opt):
    cls = []
    for x, y in loader:
        logits = net(x)
        out = Out(Terms(F.cross_entropy(logits, y), logits.abs().mean()), logits)
        opt.zero_grad()
        out.terms.sum().backward()
        opt.step()
        cls.append(out.terms.cls)
    return torch.stack(cls).mean().item()
