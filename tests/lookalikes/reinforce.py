"""Log-probabilities of an episode are kept on purpose: the update at its end needs their graphs."""

import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.pi, self.v = nn.Linear(4, 16), nn.Linear(16, 2), nn.Linear(16, 1)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        h = torch.relu(self.body(x))
        return self.pi(h).softmax(-1), self.v(h)


def select_action(policy, state):
    probs, _ = policy(state)
    dist = Categorical(probs)
    action = dist.sample()
    policy.saved_log_probs.append(dist.log_prob(action))
    return action.item()


def finish_episode(policy, optimizer, gamma=0.99):
    ret, policy_loss, returns = 0.0, [], []
    for r in policy.rewards[::-1]:
        ret = r + gamma * ret
        returns.insert(0, ret)
    for log_prob, ret in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * ret)
    optimizer.zero_grad()
    torch.stack(policy_loss).sum().backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]


def main(episodes=2):
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for _ in range(episodes):
        state = torch.randn(4)
        for _ in range(5):
            action = select_action(policy, state)
            policy.rewards.append(float(action))
            state = torch.randn(4)
        finish_episode(policy, optimizer)


if __name__ == "__main__":
    main()
