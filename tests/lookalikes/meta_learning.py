"""Inner loops keep graphs because the outer gradient goes through them."""

import torch
import torch.nn.functional as F
from torch.func import functional_call
from torch import nn


def adapt(model, weights, x, y, lr=0.1, steps=2):
    fast = dict(weights)
    for _ in range(steps):
        loss = F.cross_entropy(functional_call(model, fast, (x,)), y)
        grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
        fast = {name: w - lr * g for (name, w), g in zip(fast.items(), grads)}
    return fast


def meta_step(model, optimizer, tasks):
    weights = dict(model.named_parameters())
    optimizer.zero_grad()
    total = 0.0
    for (xs, ys), (xq, yq) in tasks:
        fast = adapt(model, weights, xs, ys)
        loss = F.cross_entropy(functional_call(model, fast, (xq,)), yq) / len(tasks)
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


if __name__ == "__main__":
    net = nn.Linear(4, 3)
    shot = torch.randn(5, 4), torch.arange(5) % 3
    print(meta_step(net, torch.optim.SGD(net.parameters(), lr=0.1), [(shot, shot)] * 2))
