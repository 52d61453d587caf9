"""The mean of the list is returned, and every caller only wants the number."""

import torch
import torch.nn.functional as F
from torch import nn


def validate(model, loader):
    model.eval()
    losses = []
    for x, y in loader:
        out = model(x)  # expect: TML201
        losses.append(F.cross_entropy(out, y))  # expect: TML101
    return sum(losses) / len(losses)


def sharpness(model, optimizer, loader):
    values = []
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values.append(out.softmax(1).square().sum(1).mean())  # expect: TML101
    return torch.stack(values).mean()


def fit(model, loader, epochs=2):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    best = float("inf")
    for epoch in range(epochs):
        peak = sharpness(model, optimizer, loader).item()
        loss = float(validate(model, loader))
        best = min(best, loss)
        print(f"{epoch}: {loss:.3f} {peak:.3f}")
    return best


if __name__ == "__main__":
    print(fit(nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 2))
