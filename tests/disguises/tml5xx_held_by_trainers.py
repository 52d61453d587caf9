"""Copies and graphs that trainer objects, scalers and collating objects keep."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, device):
        self.device = device
        self.net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), fused=True)
        self.best, self.best_net = 0.0, None

    def fit(self, loader, score):
        for _ in range(10):
            for x, y in loader:
                loss = F.cross_entropy(self.net(x.to(self.device)), y.to(self.device))
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            if score() > self.best:
                self.best = score()
                self.best_net = copy.deepcopy(self.net)  # expect: TML503
        return self.best_net


def scaled_total(net, x, y, optimizer, scaler):
    losses = []
    for a, b in zip(x.chunk(4), y.chunk(4)):
        losses.append(F.cross_entropy(net(a), b))  # expect: TML504
    scaler.scale(sum(losses) / 4).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


def pieces(batch, count):
    return zip(*(t.chunk(count) for t in batch))


def total_of_pieces(net, batch, optimizer):
    losses = [F.cross_entropy(net(x), y) for x, y in pieces(batch, 4)]  # expect: TML504
    torch.stack(losses).mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def gradient_norm(net: nn.Module):
    return torch.cat([p.grad.view(-1) for p in net.parameters()]).norm()  # expect: TML322


class Collate:
    def __init__(self, device):
        self.device = device

    def __call__(self, rows):
        return torch.stack(rows).to(self.device)  # expect: TML603


def loader(dataset):
    return DataLoader(dataset, batch_size=4, num_workers=4, collate_fn=Collate("cuda"))
