"""State on an object that is cut off first, or starts anew for each step, though a graph is retained."""

import torch
import torch.nn.functional as F
from torch import nn


class Cut(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(3, 8), nn.Linear(8, 3)
        self.h = None

    def begin(self, like):
        self.h = like.new_zeros(like.size(1), 8)

    def forward(self, x, start=True):
        if start:
            self.begin(x)
        else:
            self.h = self.h.detach()
        rows = []
        for row in x:
            self.h = self.cell(row, self.h)
            rows.append(self.out(self.h))
        return torch.stack(rows)


class Fresh(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 3)
        self.hidden = None

    def reset(self):
        self.hidden = None

    def forward(self, x):
        out, self.hidden = self.lstm(x, self.hidden)
        return out


def train(model, batches, optimizer):
    for n, x in enumerate(batches):
        loss = F.huber_loss(model(x, n == 0), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def twice(model, batches, optimizer):
    for x in batches:
        model.reset()
        out = model(x)
        optimizer.zero_grad()
        F.huber_loss(out, x).backward(retain_graph=True)
        out.pow(2).mean().backward()
        optimizer.step()


if __name__ == "__main__":
    data = [torch.randn(4, 2, 3) for _ in range(2)]
    net = Cut()
    train(net, data, torch.optim.SGD(net.parameters(), lr=0.1))
    fresh = Fresh()
    twice(fresh, data, torch.optim.SGD(fresh.parameters(), lr=0.1))
