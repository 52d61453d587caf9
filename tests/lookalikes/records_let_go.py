"""Objects carry losses: what a backward walked through a sum, an unpacked tuple, a method or a helper is freed; what a
helper, a copy with other fields or the object itself detached has no graph."""

import dataclasses
from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn


class Losses:
    def __init__(self, logits, boxes, targets):
        self.cls = F.cross_entropy(logits, targets["labels"])
        self.box = F.l1_loss(boxes, targets["boxes"])
        self.total = self.cls + 5.0 * self.box

    def backward(self):
        self.total.backward()


class Pair(NamedTuple):
    loss: torch.Tensor
    logits: torch.Tensor


@dataclass
class Out:
    loss: torch.Tensor
    gap: torch.Tensor


@dataclass(frozen=True)
class Row:
    step: int
    gap: torch.Tensor

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, torch.Tensor):
                object.__setattr__(self, field.name, value.detach())


def forward(net, x, y):
    logits = net(x)
    return Pair((logits - y).abs().mean(), logits)


def step(losses, opt):
    opt.zero_grad()
    (losses.cls + losses.box).backward()
    opt.step()


def release(out):
    out.gap = out.gap.detach()


def strip(out, names):
    for name in names:
        setattr(out, name, getattr(out, name).detach())


def summed(heads: nn.Module, loader):
    opt, log, total = torch.optim.AdamW(heads.parameters()), [], 0.0
    for x, targets in loader:
        losses = Losses(*heads(x), targets)
        opt.zero_grad()
        losses.total.backward()
        opt.step()
        log.append(losses.cls)
        total += losses.box
    return torch.stack(log).mean().item(), float(total)


def walked_elsewhere(heads: nn.Module, loader):
    opt, log, total = torch.optim.AdamW(heads.parameters()), [], 0.0
    for x, targets in loader:
        losses = Losses(*heads(x), targets)
        step(losses, opt)
        log.append(losses.cls)
        losses = Losses(*heads(x), targets)
        opt.zero_grad()
        losses.backward()
        opt.step()
        total += losses.box
    return torch.stack(log).mean().item(), float(total)


def unpacked(net: nn.Module, loader):
    opt, log = torch.optim.AdamW(net.parameters()), []
    for x, y in loader:
        out = forward(net, x, y)
        loss, _ = out
        opt.zero_grad()
        loss.backward()
        opt.step()
        log.append(out.loss)
        out = forward(net, x, y)
        opt.zero_grad()
        out[0].backward()
        opt.step()
        log.append(out.loss)
    return torch.stack(log).mean().item()


def detached(net: nn.Module, loader):
    log = []
    for i, (x, y) in enumerate(loader):
        out = Out(F.l1_loss(net(x), y), net(x).pow(2).mean())
        log.append(dataclasses.replace(out, loss=out.loss.detach(), gap=out.gap.detach()).gap)
        log.append(Row(i, out.gap).gap)
        release(out)
        log.append(out.gap)
        other = Out(F.l1_loss(net(x), y), net(x).pow(2).mean())
        strip(other, ["gap"])
        log.append(other.gap)
        last = Out(F.l1_loss(net(x), y), net(x).pow(2).mean())
        alias = last
        alias.gap = alias.gap.item()
        log.append(last.gap)
        loss = net(x).sum()
        loss.backward()
    return log
