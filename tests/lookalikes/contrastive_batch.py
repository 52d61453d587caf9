"""Losses that mix the outputs of several forwards need all of them at once."""

import torch
import torch.nn.functional as F
from torch import nn


def nt_xent(views, temperature=0.1):
    z = torch.cat(views)
    sim = z @ z.t() / temperature
    sim = sim.masked_fill(torch.eye(len(z), dtype=torch.bool, device=z.device), float("-inf"))
    n = len(z) // 2
    target = torch.arange(2 * n, device=z.device).roll(n)
    return F.cross_entropy(sim, target)


def multi_crop(encoder, optimizer, crops):
    outputs = []
    for crop in crops:
        outputs.append(F.normalize(encoder(crop), dim=-1))
    loss = nt_xent(outputs)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 8)

    def forward(self, views):
        features = [self.encoder(v) for v in views]
        return torch.stack(features)


def consistency(model, optimizer, views):
    features = model(views)
    loss = features.std(0).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


if __name__ == "__main__":
    net = nn.Linear(4, 8)
    crops = [torch.randn(3, 4), torch.randn(3, 4)]
    print(multi_crop(net, torch.optim.SGD(net.parameters(), lr=0.1), crops))
    twin = Siamese()
    consistency(twin, torch.optim.SGD(twin.parameters(), lr=0.1), crops)
