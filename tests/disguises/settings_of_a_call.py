"""One arm of a loop trains and detaches, the other only runs: what the caller set decides, the same in every round."""

import torch
from torch import nn


def forward_chunks(net, chunks, to_do, optimizer=None):
    h, total = torch.zeros(2, 4), 0.0
    for x in chunks:
        if to_do == "train":
            h = net(x, h)
            loss = h.pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            h = h.detach()
        else:
            h = net(x, h)  # expect: TML107, TML203
        total += h.mean().item()
    return total


def by_optimizer(net, chunks, optimizer=None):
    h, total = torch.zeros(2, 4), 0.0
    for x in chunks:
        if optimizer is None:
            h = net(x, h)  # expect: TML107, TML203
        else:
            h = net(x, h)
            optimizer.zero_grad()
            h.mean().backward()
            optimizer.step()
            h = h.detach()
        total += h.mean().item()
    return total


if __name__ == "__main__":
    cell, data = nn.GRUCell(3, 4), [torch.randn(2, 3)] * 3
    sgd = torch.optim.SGD(cell.parameters(), lr=0.1)
    print(forward_chunks(cell, data, "train", sgd), forward_chunks(cell, data, "valid"))
    print(by_optimizer(cell, data, sgd), by_optimizer(cell, data))
