"""A target network has the weights of the trained one and is in no optimizer; the loss walks its graph in a function that it
is handed to. A trainer that is a module is moved by whoever makes it, and restores its parts afterwards."""

import torch
import torch.nn.functional as F
from torch import nn


class Values(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 128)
        self.second = nn.Linear(128, 2)

    def forward(self, x):
        return self.second(F.relu(self.first(x)))


def learn(values, target, batches, optimizer):
    for s, a, r, s_next in batches:
        best = target(s_next).max(1)[0].unsqueeze(1)
        loss = F.smooth_l1_loss(values(s).gather(1, a), r + 0.98 * best)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main(batches, rounds):
    values = Values()
    target = Values()  # expect: TML506
    target.load_state_dict(values.state_dict())
    optimizer = torch.optim.Adam(values.parameters(), lr=0.0005)
    for _ in range(rounds):
        learn(values, target, batches, optimizer)
        target.load_state_dict(values.state_dict())


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = nn.Linear(4, 4)
        self.critic = nn.Linear(4, 1)

    def resume(self, path):
        state = torch.load(path)  # expect: TML601
        self.generator.load_state_dict(state["generator"])
        self.critic.load_state_dict(state["critic"])


def serve(path, x):
    pair = Pair()
    pair.cuda()
    pair.resume(path)
    with torch.no_grad():
        return pair.generator(x)
