"""A helper's flag retains the graph of the loss that it is handed; who sets it never walks that graph again."""

import torch
import torch.nn.functional as F
from torch import nn


def optimise(optimizer, loss, retain=False):
    optimizer.zero_grad()
    loss.backward(retain_graph=retain)
    optimizer.step()


class Adversaries:
    def __init__(self):
        self.generator, self.critic = nn.Linear(3, 4), nn.Linear(4, 1)
        self.for_generator = torch.optim.Adam(self.generator.parameters())
        self.for_critic = torch.optim.Adam(self.critic.parameters())

    def walk(self, optimizer, loss, keep=False):
        optimizer.zero_grad()
        loss.backward(retain_graph=keep)
        optimizer.step()

    def step(self, real):
        fake = self.generator(torch.randn(len(real), 3))
        loss = F.softplus(self.critic(fake.detach())).mean() + F.softplus(-self.critic(real)).mean()
        self.walk(self.for_critic, loss, keep=True)  # expect: TML109
        self.walk(self.for_generator, F.softplus(-self.critic(fake)).mean())
        return loss.item()


def fit(steps):
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        optimise(optimizer, net(torch.randn(8, 4)).square().mean(), True)  # expect: TML109


if __name__ == "__main__":
    print(Adversaries().step(torch.randn(8, 4)))
    fit(2)
