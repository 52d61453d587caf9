"""Each micro-batch runs its own backward; only numbers are added up."""

import torch
import torch.nn.functional as F
from torch import nn


def accumulate(model, optimizer, loader, every=2):
    running = 0.0
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y) / every
        loss.backward()
        running += loss.item()
        if (i + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()
    return running


class Scaler:
    def scale(self, loss):
        return loss


def amp_step(model, optimizer, scaler, micro_batches):
    optimizer.zero_grad()
    total = torch.zeros(())
    for x, y in micro_batches:
        with torch.autocast("cpu", enabled=False):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss / len(micro_batches)).backward()
        total += loss.detach()
    optimizer.step()
    return total.item()


def backward_in_helper(loss, optimizer):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def heads_together(model, optimizer, x, ys):
    h = model(x)
    losses = []
    for i, y in enumerate(ys):
        losses.append(F.cross_entropy(h.roll(i, 1), y))
    backward_in_helper(torch.stack(losses).sum(), optimizer)


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 4
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    print(accumulate(net, sgd, data), amp_step(net, sgd, Scaler(), data))
    heads_together(net, sgd, data[0][0], [y for _, y in data])
