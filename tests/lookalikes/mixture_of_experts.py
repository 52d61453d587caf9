"""Auxiliary losses on self are read by the owner of the forward."""

import torch
import torch.nn.functional as F
from torch import nn


class Router(nn.Module):
    def __init__(self, width, experts):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.aux_loss = None

    def forward(self, x):
        probs = self.gate(x).softmax(-1)
        self.aux_loss = (probs.mean(0) * probs.size(-1)).square().mean()
        return probs


class MoE(nn.Module):
    def __init__(self, width=4, experts=3):
        super().__init__()
        self.router = Router(width, experts)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))

    def forward(self, x):
        probs = self.router(x)
        outs = torch.stack([expert(x) for expert in self.experts], dim=-1)
        return (outs * probs.unsqueeze(1)).sum(-1)

    def auxiliary(self):
        return self.router.aux_loss


def train(model, optimizer, loader):
    for x in loader:
        loss = F.huber_loss(model(x), x) + 0.01 * model.auxiliary()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    net = MoE()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1), [torch.randn(5, 4)] * 2)
