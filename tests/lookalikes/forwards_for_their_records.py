"""Forwards run for what their modules record, and one gradient of a mean over batches: hints, no more."""

import torch
from torch import nn


class Recorder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.total = 0.0

    def forward(self, x):
        y = self.layer(x)
        self.total += y.detach().sum().item()
        return y


def record(net, batches):
    for x in batches:
        net(x)
    return net.total


def importance(net, loader):
    scores = []
    for x in loader:
        scores.append(net(x).log_softmax(1)[:, 0].mean())
    gradients = torch.autograd.grad(torch.stack(scores).mean(), list(net.parameters()))
    return [g.detach() ** 2 for g in gradients]


if __name__ == "__main__":
    torch.manual_seed(0)
    network = Recorder()
    data = torch.utils.data.DataLoader(torch.randn(8, 4), batch_size=2)
    print(record(network, data) != 0, len(importance(network, data)))
