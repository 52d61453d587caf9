"""States reset for each sequence, states from the environment, averages of gradients, running totals of numbers."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class Tagger(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.rnn = nn.LSTM(width, width)
        self.hidden = None

    def reset(self):
        self.hidden = None

    def forward(self, x):
        out, self.hidden = self.rnn(x, self.hidden)
        return out


def fit(model: Tagger, sequences, optimizer):
    for x in sequences:
        model.reset()
        loss = F.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def act(policy: nn.Module, environment, steps):
    state, total = environment.reset(), 0.0
    for _ in range(steps):
        action = policy(state).argmax().item()
        state, reward, done = environment.step(action)
        total = 0.99 * total + reward
        if done:
            state = environment.reset()
    return total


class Line:
    def reset(self):
        self.at = torch.zeros(4)
        return self.at

    def step(self, action):
        self.at = self.at + action
        return self.at, float(action), bool(self.at[0] > 3)


@torch.no_grad()
def follow(target, source, rate):
    for ours, theirs in zip(target.parameters(), source.parameters()):
        ours.lerp_(theirs, rate)
    for ours, theirs in zip(target.buffers(), source.buffers()):
        ours.copy_(theirs)


class GradientNoise:
    def __init__(self, model):
        self.model = model
        self.average = {name: torch.zeros_like(p) for name, p in model.named_parameters()}

    def update(self):
        for name, p in self.model.named_parameters():
            self.average[name] = 0.9 * self.average[name] + 0.1 * p.grad


if __name__ == "__main__":
    tagger = Tagger(4)
    fit(tagger, [torch.randn(3, 2, 4)] * 2, torch.optim.SGD(tagger.parameters(), lr=0.1))
    print(act(nn.Linear(4, 2), Line(), 3))
    tagger.reset()
    twin = copy.deepcopy(tagger)
    follow(twin, tagger, 0.1)
    GradientNoise(tagger).update()
