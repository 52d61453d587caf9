"""What is drawn from a distribution has no graph: actions may be kept, log-probabilities are used up by the update."""

import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Linear(4, 3)

    def forward(self, x):
        dist = Categorical(logits=self.actor(x))
        action = dist.sample()
        return action, dist.log_prob(action), dist.entropy()


class Agent:
    def __init__(self):
        self.policy, self.actions = Policy(), []
        self.optimizer = torch.optim.SGD(self.policy.parameters(), lr=0.1)

    def episode(self, xs):
        logprobs = []
        for x in xs:
            action, logprob, _ = self.policy(x)
            self.actions.append(action)
            logprobs.append(logprob)
        self.optimizer.zero_grad()
        (-torch.stack(logprobs).mean()).backward()
        self.optimizer.step()

    def histogram(self):
        return torch.bincount(torch.cat(self.actions), minlength=3).tolist()


if __name__ == "__main__":
    agent = Agent()
    for _ in range(2):
        agent.episode(torch.randn(3, 8, 4))
    print(agent.histogram())
