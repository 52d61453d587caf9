"""State on self that crosses steps detached, or that belongs to the sequence being unrolled."""

import torch
import torch.nn.functional as F
from torch import nn


class StatefulLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(3, 8), nn.Linear(8, 3)
        self.hidden = None

    def reset(self):
        self.hidden = None

    def forward(self, x):
        out, hidden = self.lstm(x, self.hidden)
        self.hidden = tuple(h.detach() for h in hidden)
        return self.head(out)


class DetachedAtUse(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.last = nn.LSTMCell(3, 3), nn.GRUCell(3, 3)
        self.state, self.h = None, torch.zeros(2, 3)

    def forward(self, x):
        state = None if self.state is None else tuple(s.detach() for s in self.state)
        h, c = self.cell(x[0], state)
        self.state = (h, c)
        self.h = self.last(h, self.h.detach())
        return self.h


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.write, self.read = nn.Linear(3, 4), nn.Linear(4, 3)

    def forward(self, sequence):
        self.slots = torch.zeros(sequence.size(1), 4)
        for x in sequence:
            self._store(x)
        out = self.read(self.slots)
        del self.slots
        return out

    def _store(self, x):
        self.slots = 0.5 * self.slots + torch.tanh(self.write(x))


def train(model, optimizer, batches):
    for x in batches:
        loss = F.huber_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    net = StatefulLSTM()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1), [torch.randn(4, 2, 3)] * 2)
    net = DetachedAtUse()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1), [torch.randn(4, 2, 3)] * 2)
    Memory()(torch.randn(4, 2, 3)).sum().backward()
