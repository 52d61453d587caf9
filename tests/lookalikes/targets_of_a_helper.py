"""Helpers that return what a module computed: without grad, for a loss, or as a frozen network's output."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class Agent:
    def __init__(self):
        self.critic = nn.Linear(4, 1)
        self.target = copy.deepcopy(self.critic)
        self.frozen = copy.deepcopy(self.critic).requires_grad_(False)
        self.optimizer = torch.optim.SGD(self.critic.parameters(), lr=0.1)

    @torch.no_grad()
    def bootstrap(self, reward, after):
        return reward + 0.9 * self.target(after)

    def value(self, before):
        return self.critic(before).squeeze(-1)

    def prior(self, before):
        return self.frozen(before)

    def learn(self, before, reward, after):
        goal = self.bootstrap(reward, after)
        base = self.prior(before)
        value = self.value(before)
        loss = F.huber_loss(value, (goal - base).detach().squeeze(-1))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item(), value.detach().mean().item()


if __name__ == "__main__":
    agent = Agent()
    for _ in range(2):
        print(agent.learn(torch.randn(8, 4), torch.randn(8, 1), torch.randn(8, 4)))
