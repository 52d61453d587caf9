"""A record is filled key by key or by `append` before it is stored; of a step's dict only some members carry a graph."""

import torch
import torch.nn.functional as F
from torch import nn


class Board:
    def __init__(self):
        self.rows, self.history = {}, []

    def note(self, step, state=None):
        row = {"step": step}
        if state is not None:
            row["hidden"] = state["h"]
        self.rows[step] = row

    def push(self, step, value):
        row = [step]
        row.append(value)
        self.history.append(row)


def shared_step(model, x, y):
    logits = model(x)
    return {"loss": F.cross_entropy(logits, y), "probabilities": logits.detach().softmax(1), "label": y}


def training_step(model, optimizer, x, y):
    results = shared_step(model, x, y)
    optimizer.zero_grad()
    results["loss"].backward()
    optimizer.step()
    results["loss"] = results["loss"].item()
    return results


def epoch(model, optimizer, loader, device):
    outputs = []
    for x, y in loader:
        outputs.append(training_step(model, optimizer, x.to(device), y.to(device)))  # expect: TML401
    hits = torch.cat([o["probabilities"].argmax(1) == o["label"] for o in outputs])
    return sum(o["loss"] for o in outputs), hits.float().mean().item()


def observe(cell, board, xs):
    h = torch.zeros(2, 4)
    for step, x in enumerate(xs):
        out = cell(x, h)
        board.note(step, {"h": out})  # expect: TML101
        board.push(step, out)  # expect: TML101
    return len(board.rows), len(board.history)


if __name__ == "__main__":
    net = nn.Linear(4, 3)
    data = [(torch.randn(5, 4), torch.arange(5) % 3)] * 3
    print(epoch(net, torch.optim.SGD(net.parameters(), lr=0.1), data, "cpu"))
    print(observe(nn.GRUCell(4, 4), Board(), [torch.randn(2, 4)] * 3))
