"""Dicts made of the members of one dict of losses share the graph of one forward, and go with the step; a meter that
takes the number out of what it is given by keyword keeps none."""

from collections import defaultdict, deque

import torch
from torch import nn


class Smoothed:
    def __init__(self):
        self.deque = deque(maxlen=20)
        self.total = 0.0

    def update(self, value, n=1):
        self.deque.append(value)
        self.total += value * n


class Logger:
    def __init__(self):
        self.meters = defaultdict(Smoothed)

    def update(self, **kwargs):
        for k, v in kwargs.items():
            if isinstance(v, torch.Tensor):
                v = v.item()
            assert isinstance(v, (float, int))
            self.meters[k].update(v)

    def note(self, **kwargs):
        for k, v in kwargs.items():
            if isinstance(v, torch.Tensor):
                v = v.item()
            self.meters[k].update(v)


def reduced(losses, world):
    if world < 2:
        return losses
    with torch.no_grad():
        return {k: v / world for k, v in losses.items()}


def train(model: nn.Module, criterion: nn.Module, loader, optimizer, weights, world):
    logger = Logger()
    for x, y in loader:
        losses = criterion(model(x), y)
        loss = sum(losses[k] * weights[k] for k in losses.keys() if k in weights)
        told = reduced(losses, world)
        unscaled = {f"{k}_unscaled": v for k, v in told.items()}
        scaled = {k: v * weights[k] for k, v in told.items() if k in weights}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logger.update(loss=loss.item(), **scaled, **unscaled)
        logger.note(loss=loss.item(), **scaled)
    return logger


def train_and_print(model: nn.Module, loader, optimizer, weights):
    for x, y in loader:
        losses = {"a": nn.functional.mse_loss(model(x), y), "b": model(x).mean()}
        loss = sum(losses[k] * weights[k] for k in losses)
        scaled = {k: v * weights[k] for k, v in losses.items()}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for k, v in scaled.items():
            print(k, v.item())
