"""A rollout buffer of values made under no_grad and stored on the host."""

import torch
from torch import nn


class RolloutBuffer:
    def __init__(self):
        self.states, self.actions, self.log_probs, self.rewards = [], [], [], []

    def store(self, state, action, log_prob, reward):
        self.states.append(state)
        self.actions.append(action)
        self.log_probs.append(log_prob)
        self.rewards.append(reward)

    def clear(self):
        del self.states[:], self.actions[:], self.log_probs[:], self.rewards[:]


class PPO:
    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        self.optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.buffer = RolloutBuffer()

    def select_action(self, state):
        with torch.no_grad():
            dist = torch.distributions.Categorical(logits=self.actor(state))
            action = dist.sample()
            log_prob = dist.log_prob(action)
        self.buffer.store(state.cpu(), action.cpu(), log_prob.cpu(), float(action))
        return action.item()

    def update(self, epochs=2, clip=0.2):
        states = torch.stack(self.buffer.states)
        actions, old = torch.stack(self.buffer.actions), torch.stack(self.buffer.log_probs)
        advantage = torch.tensor(self.buffer.rewards)
        for _ in range(epochs):
            dist = torch.distributions.Categorical(logits=self.actor(states))
            ratio = (dist.log_prob(actions) - old).exp()
            loss = -torch.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.buffer.clear()


if __name__ == "__main__":
    agent = PPO()
    for _ in range(4):
        agent.select_action(torch.randn(4))
    agent.update()
