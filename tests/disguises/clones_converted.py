"""A clone that is converted to another type, or is of a result of the model, is one copy too many."""

import torch
from torch import nn


def averaged(states):
    total = {}
    for name, value in states[0].items():
        total[name] = value.detach().clone().to(dtype=torch.float64)  # expect: TML303
    return total


@torch.no_grad()
def predicted(net: nn.Linear, batches):
    return [net(x).clone().cpu() for x in batches]  # expect: TML303
