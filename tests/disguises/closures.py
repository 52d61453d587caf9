"""The list belongs to an enclosing function: one that still runs, or one whose closure lives on."""

import torch
import torch.nn.functional as F
from torch import nn


def train(model, optimizer, loader):
    scores = []

    def keep(value):
        scores.append(value)  # expect: TML101  # allow: TML104

    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        keep(out.softmax(1).amax(1).mean())
    return sum(float(s) for s in scores)


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 3
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    print(train(net, sgd, data))
