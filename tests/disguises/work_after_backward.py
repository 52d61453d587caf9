"""A running total of a score that is computed from the output after its backward: the score saves the output anew."""

import torch
from torch import nn


def train(model, optimizer, batches):
    total = 0.0
    for x in batches:
        out = model(x)
        loss = nn.functional.mse_loss(out, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        weight = 0.5 * loss
        total += out.square().mean() * weight  # expect: TML102
    return total.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    net = nn.Linear(4, 4)
    print(train(net, torch.optim.SGD(net.parameters(), lr=0.1), [torch.randn(3, 4) for _ in range(3)]) > 0)
