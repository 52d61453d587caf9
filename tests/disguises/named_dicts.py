"""A dict class of the project is a record of what it is made of; a forward hands its activation to a list elsewhere."""

import torch
import torch.nn.functional as F
from torch import nn


class Result(dict):
    pass


class Board:
    def __init__(self):
        self.rows = []

    def add(self, name, value):
        self.rows.append((name, value))


class Block(nn.Module):
    def __init__(self, board):
        super().__init__()
        self.linear, self.board = nn.Linear(4, 4), board

    def forward(self, x):
        x = torch.relu(self.linear(x))
        self.board.add("relu", x)  # expect: TML103
        return x


def epoch(model, optimizer, loader):
    outputs = []
    for x in loader:
        code = model(x)
        loss = F.mse_loss(code, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        outputs.append(Result(step=len(outputs), code=code))  # expect: TML101
    return float(sum(o["code"].detach().mean() for o in outputs))


if __name__ == "__main__":
    board = Board()
    net = Block(board)
    print(epoch(net, torch.optim.SGD(net.parameters(), lr=0.1), [torch.randn(2, 4)] * 3), len(board.rows))
