"""Copies that trainer objects use, and averages."""

import copy

import torch
from torch import nn


class SelfDistilled:
    def __init__(self, device):
        self.device, self.teacher = device, None
        self.net = nn.Linear(8, 2).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), fused=True)

    def fit(self, loader):
        for epoch in range(10):
            if epoch % 2 == 0:
                self.teacher = copy.deepcopy(self.net).requires_grad_(False)
            for x in loader:
                x = x.to(self.device)
                with torch.no_grad():
                    wanted = self.teacher(x)
                loss = (self.net(x) - wanted).square().mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()


class Averaged:
    def __init__(self, net: nn.Module, decay=0.99):
        self.decay = decay
        self.shadow = {k: v.clone() for k, v in net.state_dict().items()}

    @torch.no_grad()
    def update(self, net):
        for k, v in net.state_dict().items():
            self.shadow[k].mul_(self.decay).add_(v, alpha=1 - self.decay)


def flat_gradient(net: nn.Module):
    flat = torch.cat([p.grad.view(-1) for p in net.parameters()])
    return flat, flat.norm()
