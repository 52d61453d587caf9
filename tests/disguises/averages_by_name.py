"""Averages of weights in dicts of a list, by functions of torch that take the weight first."""

import torch
import torch.nn.functional as F
from torch import nn


class Averages:
    def __init__(self, net, decays=(0.99, 0.999)):
        self.decays = decays
        self.kept = [{k: p.detach().clone() for k, p in net.named_parameters()} for _ in decays]

    def update(self, net):
        for decay, kept in zip(self.decays, self.kept):
            for name, p in net.named_parameters():
                kept[name] = torch.lerp(p, kept[name], decay)  # expect: TML108


def fit(net, batches):
    averages, optimizer = Averages(net), torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in batches:
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        averages.update(net)
    return averages.kept[0]


if __name__ == "__main__":
    print(len(fit(nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 3)))
