"""A dict of losses is the training loss: it is returned, summed and backpropagated by the caller."""

import torch
import torch.nn.functional as F
from torch import nn


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.heads = nn.ModuleDict({"cls": nn.Linear(8, 3), "box": nn.Linear(8, 3)})

    def forward(self, x, targets):
        h = torch.relu(self.body(x))
        losses = {}
        for k, head in self.heads.items():
            v = F.huber_loss(head(h), targets[k])
            losses[k] = v
        return losses


def weighted(losses, weights):
    total = 0.0
    for name, value in losses.items():
        total = total + weights.get(name, 1.0) * value
    return total


def train(model, optimizer, loader, logger):
    for x, targets in loader:
        losses = model(x, targets)
        loss = weighted(losses, {"box": 2.0})
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logger.append({name: value.item() for name, value in losses.items()})


def reduce_and_step(model, optimizer, x, targets):
    loss_dict = model(x, targets)
    optimizer.zero_grad()
    sum(loss for loss in loss_dict.values()).backward()
    optimizer.step()


if __name__ == "__main__":
    net = Detector()
    sample = torch.randn(5, 4), {"cls": torch.randn(5, 3), "box": torch.randn(5, 3)}
    log = []
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    train(net, sgd, [sample] * 2, log)
    reduce_and_step(net, sgd, *sample)
    print(log)
