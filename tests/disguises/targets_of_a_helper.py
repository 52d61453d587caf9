"""A helper runs the target network with grad on; the training function only uses detached copies of what it returns."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class Agent:
    def __init__(self):
        self.critic = nn.Linear(4, 1)
        self.target = copy.deepcopy(self.critic)
        self.optimizer = torch.optim.SGD(self.critic.parameters(), lr=0.1)

    def bootstrap(self, reward, after):
        value = self.target(after)
        return reward + 0.9 * value

    def learn(self, before, reward, after):
        goal = self.bootstrap(reward, after)  # expect: TML203
        loss = F.huber_loss(self.critic(before), goal.detach())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


if __name__ == "__main__":
    agent = Agent()
    for _ in range(2):
        print(agent.learn(torch.randn(8, 4), torch.randn(8, 1), torch.randn(8, 4)))
