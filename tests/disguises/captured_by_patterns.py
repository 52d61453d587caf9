"""What a pattern captures of a record is what the record was given."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Out:
    loss: torch.Tensor
    gap: torch.Tensor


def fit(net: nn.Module, loader, opt):
    log = []
    for x, y in loader:
        out = net(x)
        match Out((out - y).abs().mean(), (out - y).pow(2).mean()):
            case Out(loss=loss, gap=gap):
                opt.zero_grad()
                loss.backward()
                opt.step()
                log.append(gap)  # expect: TML101
        del out
    return log[-1].item()


def kept_by_class(net: nn.Module, loader):
    values = []
    for x, y in loader:
        score = (net(x) - y).abs().mean()
        if type(score) is not float:
            values.append(score)  # expect: TML101
    print(sum(float(v) for v in values))
