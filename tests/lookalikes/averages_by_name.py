"""Averages of detached weights and of data, by functions of torch that take the weight first; under no_grad."""

import torch
import torch.nn.functional as F
from torch import nn


class Averages:
    def __init__(self, net, decays=(0.99, 0.999)):
        self.decays = decays
        self.kept = [{k: p.detach().clone() for k, p in net.named_parameters()} for _ in decays]
        self.last = {k: p.detach().clone() for k, p in net.named_parameters()}
        self.mean = torch.zeros(4)

    def update(self, net, x):
        for decay, kept in zip(self.decays, self.kept):
            for name, p in net.named_parameters():
                kept[name] = torch.lerp(p.detach(), kept[name], decay)
        self.mean = torch.lerp(x.mean(0), self.mean, 0.9)
        self.follow(net)

    @torch.no_grad()
    def follow(self, net):
        for name, p in net.named_parameters():
            self.last[name] = torch.lerp(p, self.last[name], 0.9)


def fit(net, batches):
    averages, optimizer = Averages(net), torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in batches:
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        averages.update(net, x)
    return averages.kept[0]


if __name__ == "__main__":
    print(len(fit(nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 3)))
