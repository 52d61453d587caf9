"""A log is handed the whole record and keeps the fields that carry no graph: labels, numbers, names."""

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Output:
    logits: torch.Tensor
    labels: torch.Tensor
    name: str
    loss: torch.Tensor = None


class Log:
    def __init__(self):
        self.targets, self.names, self.losses = [], [], []

    def add(self, out):
        self.targets.append(out.labels)
        self.names.append(out.name)
        self.losses.append(out.loss.item())


def train(data):
    net, log = nn.Linear(3, 3), Log()
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in data:
        logits = net(x)
        out = Output(logits, y.long(), "train", loss=(logits - y).abs().mean())
        opt.zero_grad()
        out.loss.backward()
        opt.step()
        log.add(out)
    return len(log.targets), log.names, sum(log.losses)
