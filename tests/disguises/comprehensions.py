"""The loop is a comprehension."""

import torch
import torch.nn.functional as F
from torch import nn


def mean_loss(model, loader):
    model.eval()
    losses = [F.cross_entropy(model(x), y) for x, y in loader]  # expect: TML101, TML201
    return (sum(losses) / len(losses)).item()


def outputs(model, loader):
    model.eval()
    by_batch = {i: model(x) for i, (x, _) in enumerate(loader)}  # expect: TML101, TML201
    return {i: out.argmax(1).tolist() for i, out in by_batch.items()}


def total(model, loader):
    model.eval()
    return sum(F.cross_entropy(model(x), y) for x, y in loader).item()  # expect: TML201  # allow: TML101, TML102


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 3
    print(mean_loss(net, data), outputs(net, data), total(net, data))
