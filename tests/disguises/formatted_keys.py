"""Containers with names and keys that look like bookkeeping."""

import torch
import torch.nn.functional as F
from torch import nn


def train(model, optimizer, loader):
    cache, kwargs, state = {}, {}, {"epoch": 0}
    for i, (x, y) in enumerate(loader):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        cache[f"b{i}"] = out.softmax(1)  # expect: TML101
        kwargs["target_%d" % i] = out.softmax(1).amax(1)  # expect: TML101
        state[i, "margin"] = out.softmax(1).std()  # expect: TML101
    return sorted(cache), [float(v.mean()) for v in kwargs.values()], [float(v) for v in state.values()]


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 3
    print(train(net, torch.optim.SGD(net.parameters(), lr=0.1), data))
