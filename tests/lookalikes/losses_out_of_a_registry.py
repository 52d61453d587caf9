"""Losses are found by name and given outputs and targets as keywords: who gathers them may walk any of them."""

import functools
import torch
from torch import nn

REGISTRY = {}


def register(name, **defaults):
    def deco(fn):
        @functools.wraps(fn)
        def run(*args, **kwargs):
            return fn(*args, **{**defaults, **kwargs})
        REGISTRY[name] = run
        return run
    return deco


@register("l1", weight=1.0)
def l1(pred, y, weight=1.0, **unused):
    return weight * (pred - y).abs().mean()


@register("l2", weight=0.5)
def l2(pred, y, *, weight=1.0, mask=None, **unused):
    d = (pred - y).pow(2)
    return weight * (d if mask is None else d * mask).mean()


class Losses:
    def __init__(self, **specs):
        self.specs = specs
        self.last = {}

    def __call__(self, **tensors):
        values = {name: REGISTRY[name](**tensors, **spec) for name, spec in self.specs.items()}
        self.last = {k: v.detach() for k, v in values.items()}
        return sum(values.values())


class Events:
    def __init__(self):
        self.handlers = {}

    def on(self, name, fn):
        self.handlers.setdefault(name, []).append(fn)

    def emit(self, name, **payload):
        for fn in self.handlers.get(name, []):
            fn(**payload)


def train(net: nn.Module, loader, opt):
    losses, events, log = Losses(l1={"weight": 2.0}, l2={}), Events(), []
    events.on("step", lambda loss, **_: log.append(loss.item()))
    events.on("step", lambda step=0, **_: print(step))
    for step, (x, y) in enumerate(loader):
        pred = net(x)
        loss = losses(pred=pred, y=y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        events.emit("step", loss=loss, pred=pred, step=step)
    return log
