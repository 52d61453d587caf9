"""A log is handed the whole record and keeps a field with its graph."""

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Output:
    labels: torch.Tensor
    loss: torch.Tensor
    score: torch.Tensor


class Log:
    def __init__(self):
        self.scores, self.labels = [], []

    def add(self, out):
        self.scores.append(out.score)  # expect: TML101
        self.labels.append(out.labels)


def train(data):
    net, log = nn.Linear(3, 3), Log()
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in data:
        logits = net(x)
        out = Output(y.long(), (logits - y).abs().mean(), (logits - y).pow(2).mean())
        opt.zero_grad()
        out.loss.backward()
        opt.step()
        log.add(out)
    return float(sum(log.scores)), len(log.labels)
