"""A tensor that attached values are written into carries the graph of each of them."""

import torch
import torch.nn.functional as F
from torch import nn


def rollout(policy: nn.Module, env, steps):
    values = torch.zeros(steps, device="cuda")
    obs = env.reset()
    for t in range(steps):
        out = policy(obs)
        values[t] = out.mean()  # expect: TML101
        obs = env.step(out.argmax().item())
    return values.detach().cpu().numpy()


def predict(model: nn.Module, optimizer, loader, n):
    scores = torch.empty(n, 10, device="cuda")
    start = 0
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scores[start : start + len(x)] = out.softmax(1)  # expect: TML101
        start += len(x)
    print(scores.detach().argmax(1).bincount())


class Recorder:
    def __init__(self, net: nn.Module, n):
        self.net = net
        self.scores = torch.zeros(n, device="cuda")

    def run(self, frames):
        for i, frame in enumerate(frames):
            self.scores[i] = self.net(frame).amax()  # expect: TML101
        print(self.scores.detach().tolist())


class Buffer:
    def __init__(self, n):
        self.values = torch.zeros(n, device="cuda")
        self.position = 0

    def put(self, value):
        self.values[self.position] = value
        self.position += 1


def fill(net: nn.Module, env, n):
    buffer = Buffer(n)
    obs = env.reset()
    for _ in range(n):
        out = net(obs)
        buffer.put(out.amax())  # expect: TML101
        obs = env.step(out.argmax().item())
    return buffer.values.detach().tolist()
