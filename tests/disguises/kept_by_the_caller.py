"""A step returns attached values in a dict; the loop in another function keeps them."""

import torch
import torch.nn.functional as F
from torch import nn


def step(model, optimizer, x, y):
    logits = model(x)
    loss = F.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {"loss": loss.item(), "margin": logits.softmax(1).amax(1).mean()}


def fit(model, optimizer, loader):
    logs, margins, total = [], [], 0.0
    for x, y in loader:
        result = step(model, optimizer, x, y)
        logs.append(result)  # expect: TML101
        margins.append(result["margin"])  # expect: TML101
        total += step(model, optimizer, x, y)["margin"]  # expect: TML102
    return [float(log["margin"]) for log in logs], sum(map(float, margins)), float(total)


def gather(model, optimizer, loader, into):
    for x, y in loader:
        into.append(step(model, optimizer, x, y)["margin"])  # expect: TML101


def main():
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = [(torch.randn(6, 4), torch.arange(6) % 3)] * 3
    kept = []
    gather(model, optimizer, loader, kept)
    print(fit(model, optimizer, loader), [float(k) for k in kept])


if __name__ == "__main__":
    main()
