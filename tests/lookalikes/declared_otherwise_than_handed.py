"""A declaration is no proof: what is handed over may carry a graph that the caller still walks."""

from typing import List

import torch
from torch import nn


def apply_all(net: nn.Module, feats: List["torch.Tensor"]):
    net(torch.cat(feats)).mean().backward(retain_graph=True)


def apply_each(net: nn.Module, feats: List[int]):
    net(torch.cat(feats)).mean().backward(retain_graph=True)


def fit(encoder: nn.Module, head: nn.Module, optimizer, loader):
    for x in loader:
        y = encoder(x.cuda())
        apply_all(head, [y])
        y.norm().backward()
        optimizer.step()
        optimizer.zero_grad()


def fit_each(encoder: nn.Module, head: nn.Module, optimizer, loader):
    for x in loader:
        y = encoder(x.cuda())
        apply_each(head, [y])
        y.norm().backward()
        optimizer.step()
        optimizer.zero_grad()
