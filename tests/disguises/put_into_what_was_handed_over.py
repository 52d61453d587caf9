"""A value estimate with its graph, put by a helper into the dict that it was given, and kept with that dict."""

import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 256)
        self.value = nn.Linear(256, 1)

    def forward(self, x):
        return self.value(torch.tanh(self.body(x))).squeeze(-1)


class Policy:
    def __init__(self, critic, gamma):
        self.critic = critic
        self.gamma = gamma

    def postprocess(self, batch):
        last = 0.0 if batch["dones"][-1] else self.critic(batch["obs"][-1])
        returns = []
        for reward in reversed(batch["rewards"]):
            last = reward + self.gamma * last
            returns.append(last)  # expect: TML101
        batch["returns"] = list(reversed(returns))
        return batch


class Worker:
    def __init__(self, env, policy):
        self.env = env
        self.policy = policy
        self.samples = []

    def sample(self):
        batch = {"obs": [], "rewards": [], "dones": []}
        for obs, reward, done in self.env:
            batch["obs"].append(obs)
            batch["rewards"].append(reward)
            batch["dones"].append(done)
        self.samples.append(self.policy.postprocess(batch))  # expect: TML101


def main(env):
    worker = Worker(env, Policy(Critic(), 0.99))
    for _ in range(100):
        worker.sample()
    print(sum(len(batch["returns"]) for batch in worker.samples))
