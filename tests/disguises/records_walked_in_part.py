"""An object carries several losses: the backward of one of them frees nothing of the others, nor the logits' bytes."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Out:
    loss: torch.Tensor
    gap: torch.Tensor
    logits: torch.Tensor


class Terms:
    def __init__(self, logits, y, *, weight=1.0):
        self.l1 = (logits - y).abs().mean()
        self.l2 = (logits - y).pow(2).mean() * weight


def compute(net, x, y):
    logits = net(x)
    return Out(F.cross_entropy(logits, y), logits.pow(2).mean(), logits)


def by_helper(net: nn.Module, loader):
    opt, gaps, outputs = torch.optim.AdamW(net.parameters()), [], []
    for x, y in loader:
        out = compute(net, x, y)
        opt.zero_grad()
        out.loss.backward()
        opt.step()
        gaps.append(out.gap)  # expect: TML101
        outputs.append(out.logits)  # expect: TML101
    return len(gaps), len(outputs)


def by_constructor(net: nn.Module, loader):
    opt, log = torch.optim.AdamW(net.parameters()), []
    for x, y in loader:
        opt.zero_grad()
        (terms := Terms(net(x), y, weight=0.5)).l1.backward()
        opt.step()
        log.append(terms.l2)  # expect: TML101
    return log[-1].item()


def adding(net: nn.Module, loader):
    opt, total = torch.optim.AdamW(net.parameters()), 0.0
    for x, y in loader:
        out = compute(net, x, y)
        opt.zero_grad()
        out.loss.backward()
        opt.step()
        total += (out.gap + 0.1) * 2  # expect: TML102
    return float(total)
