"""Recurrent training: one backward over the whole sequence, or a hidden state detached between windows."""

import torch
import torch.nn.functional as F
from torch import nn


class RNN(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.cell, self.head = nn.GRUCell(3, width), nn.Linear(width, 3)
        self.width = width

    def forward(self, sequence):
        h = sequence.new_zeros(sequence.size(1), self.width)
        outputs = []
        for x in sequence:
            h = self.cell(x, h)
            outputs.append(self.head(h))
        return torch.stack(outputs)


def whole_sequence(model, optimizer, sequence):
    h = torch.zeros(sequence.size(1), model.width)
    loss = 0.0
    for now, following in zip(sequence, sequence[1:]):
        h = model.cell(now, h)
        loss = loss + F.huber_loss(model.head(h), following)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item() / len(sequence)


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def windows(lstm, head, optimizer, data):
    hidden = (torch.zeros(1, 2, 8), torch.zeros(1, 2, 8))
    for x, y in data:
        hidden = repackage_hidden(hidden)
        out, hidden = lstm(x, hidden)
        loss = F.cross_entropy(head(out).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    net = RNN()
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    print(net(torch.randn(4, 2, 3)).shape, whole_sequence(net, sgd, torch.randn(4, 2, 3)))
    core, top = nn.LSTM(3, 8), nn.Linear(8, 5)
    windows(
        core, top, torch.optim.SGD(core.parameters(), lr=0.1), [(torch.randn(4, 2, 3), torch.zeros(4, 2).long())] * 2
    )
