"""Dicts that are spread into helpers: numbers are kept, or what has no graph."""

import torch
from torch import nn


class Batch:
    def __init__(self, **kw):
        self.data = kw

    def to(self, device):
        return Batch(**{k: v.to(device) for k, v in self.data.items()})


class Log:
    def __init__(self):
        self.rows, self.named = [], {}

    def add(self, step, **kw):
        self.rows.append({"step": step, **{k: float(v) for k, v in kw.items()}})

    def set(self, loss=None, **kw):
        self.named.update(kw)
        self.last = loss.item() if loss is not None else None

    def keep(self, **kw):
        kw.pop("loss")
        self.rows.append(kw)

    def keep2(self, **kw):
        self.rows.append({k: v for k, v in kw.items() if k != "loss"})


def fit(net: nn.Module, loader, opt):
    log = Log()
    for i, (x, y) in enumerate(loader):
        out = net(x)
        losses = {"loss": (out - y).pow(2).mean(), "l1": (out - y).abs().mean()}
        metrics = {"loss": losses["loss"], "rate": 0.1}
        opt.zero_grad()
        losses["loss"].backward()
        opt.step()
        log.add(i, **losses)
        log.set(**{"loss": losses["loss"], "n": len(x)})
        log.keep(**metrics)
        log.keep2(**metrics)
    return log
