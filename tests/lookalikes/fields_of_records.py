"""Objects carry losses and scores: the loss is walked, the score is a number, detached, or bound anew by a method."""

from dataclasses import dataclass

import torch
import torch.nn as nn


class Losses:
    def __init__(self, out, y):
        self.total = (out - y).abs().mean()
        self.score = (out - y).pow(2).mean().item()
        self.spread = (out - y).std()
        self.count = len(y)

    def release(self):
        self.spread = self.spread.detach()


@dataclass
class Output:
    logits: torch.Tensor
    loss: torch.Tensor
    rows: int = 0


def train(data):
    net, scores, spreads, losses_of_all = nn.Linear(3, 3), [], [], []
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in data:
        losses = Losses(net(x), y)
        opt.zero_grad()
        losses.total.backward()
        opt.step()
        losses.release()
        scores.append(losses.score)
        spreads.append(losses.spread)
        losses_of_all.append(losses.total)
    return sum(scores), float(sum(spreads)), float(sum(losses_of_all))


def together(data):
    net, outputs, rows = nn.Linear(3, 3), [], []
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in data:
        logits = net(x)
        output = Output(logits, (logits - y).abs().mean(), rows=len(x))
        outputs.append(output.loss)
        rows.append(output.rows)
    opt.zero_grad()
    torch.stack(outputs).mean().backward()
    opt.step()
    return sum(rows)


def evaluate(net, data):
    kept = []
    with torch.no_grad():
        for x, y in data:
            logits = net(x)
            kept.append(Output(logits, (logits - y).abs().mean()).loss)
    return float(sum(kept))
