"""Tensors that values without a graph are written into, that a loss needs, or that a pass makes anew."""

import torch
import torch.nn.functional as F
from torch import nn


def rollout(policy: nn.Module, env, steps):
    values = torch.zeros(steps, device="cuda")
    obs = env.reset()
    for t in range(steps):
        with torch.no_grad():
            out = policy(obs)
        values[t] = out.mean()
        obs = env.step(out.argmax().item())
    return values


def detached(model: nn.Module, optimizer, loader, n):
    scores = torch.empty(n, 10, device="cuda")
    for i, (x, y) in enumerate(loader):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scores[i : i + len(x)] = out.detach().softmax(1)
    print(scores.argmax(1).bincount())


def unrolled(cell: nn.Module, optimizer, sequences, targets):
    for xs, ys in zip(sequences, targets):
        outs = torch.zeros(len(xs), 10, device="cuda")
        for t, x in enumerate(xs):
            outs[t] = cell(x)
        loss = F.mse_loss(outs, ys)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def unroll(cell: nn.Module, xs):
    outs = torch.zeros(len(xs), 10, device="cuda")
    for t, x in enumerate(xs):
        outs[t] = cell(x)
    return outs


class Attention(nn.Module):
    def __init__(self, dim, length):
        super().__init__()
        self.key = nn.Linear(dim, dim)
        self.cache = torch.zeros(length, dim, device="cuda")

    def step(self, x, t):
        self.cache[t] = self.key(x)
        return self.cache[: t + 1]


class Buffer:
    def __init__(self, n):
        self.values = torch.zeros(n, device="cuda")
        self.position = 0

    def put(self, value):
        self.values[self.position] = value
        self.position += 1


@torch.no_grad()
def fill(net: nn.Module, env, n):
    buffer = Buffer(n)
    obs = env.reset()
    for _ in range(n):
        out = net(obs)
        buffer.put(out.amax())
        obs = env.step(out.argmax().item())
    return buffer


def fill_detached(net: nn.Module, env, n):
    buffer = Buffer(n)
    obs = env.reset()
    for _ in range(n):
        with torch.no_grad():
            out = net(obs)
        buffer.put(out.amax())
        obs = env.step(out.argmax().item())
    return buffer
