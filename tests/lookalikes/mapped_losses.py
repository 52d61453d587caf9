"""Losses collected in a list, mapped by a function out of sight, and walked by one backward: the list is needed."""

import torch
import torch.nn.functional as F
from torch import nn


def balance(model, optimizer, tasks, weigh):
    terms = []
    for x, y in tasks:
        loss = F.cross_entropy(model(x), y)
        terms.append(loss)
    total = sum(weigh(term) for term in terms)
    total.backward()
    optimizer.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    balance(net, sgd, [(torch.randn(3, 4), torch.zeros(3, dtype=torch.long)) for _ in range(3)], torch.exp)
    print(tuple(net.weight.shape))
