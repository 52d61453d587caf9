"""A helper walks each batch's loss, or a total of losses over one forward, or a total that comes out of a recurrence."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def each(net, optimizer, data):
    return [step(optimizer, (net(x) - y).pow(2).mean()) for x, y in data]


def heads(net, heads, optimizer, data):
    for x, y in data:
        features, total = net(x), 0.0
        for head in heads:
            total = total + (head(features) - y).pow(2).mean()
        step(optimizer, total)


def unrolled(cell, optimizer, data):
    for x, y in data:
        state, total = torch.zeros(len(x), 4), 0.0
        for _ in range(5):
            state = cell(x, state)
            total = total + (state.sum(1, keepdim=True) - y).pow(2).mean()
        step(optimizer, total)


if __name__ == "__main__":
    net, cell, two = nn.Linear(4, 4), nn.GRUCell(4, 4), nn.ModuleList(nn.Linear(4, 1) for _ in range(2))
    optimizer = torch.optim.SGD([*net.parameters(), *cell.parameters(), *two.parameters()], lr=0.1)
    data = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8)
    each(net, optimizer, data)
    heads(net, two, optimizer, data)
    unrolled(cell, optimizer, data)
