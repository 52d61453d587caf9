"""Graphs that do not begin with a module call: parameters, `requires_grad_`, functional layers, `functional_call`."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3))

    def forward(self, x):
        return x @ self.weight


def penalties(model, optimizer, loader):
    kept, norms = [], 0.0
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(model.weight.square().mean())  # expect: TML101
        norms += model.weight.norm()  # expect: TML102
    return [float(k) for k in kept], float(norms)


def by_hand(steps=3):
    w = torch.randn(4, 3, requires_grad=True)
    trace = []
    for _ in range(steps):
        loss = F.linear(torch.randn(5, 4), w.t()).square().mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad = None
        trace.append(w.exp().sum())  # expect: TML101
    return [float(t) for t in trace]


def perturbed(model, x, steps=3):
    weights, results = dict(model.named_parameters()), []
    model.eval()
    for k in range(steps):
        moved = {name: p * (1 + 0.1 * k) for name, p in weights.items()}
        results.append(functional_call(model, moved, (x,)))  # expect: TML101, TML201
    return [float(r.mean()) for r in results]


if __name__ == "__main__":
    net, data = Table(), [(torch.randn(6, 4), torch.arange(6) % 3)] * 3
    print(penalties(net, torch.optim.SGD(net.parameters(), lr=0.1), data), by_hand(), perturbed(net, data[0][0]))
