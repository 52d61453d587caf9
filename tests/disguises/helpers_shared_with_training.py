"""A helper computes the loss for the training step, and the evaluation calls it with grad on; a policy's method likewise.
The rollout's finding is a hint: it runs one observation at a time."""

import torch
import torch.nn.functional as F
from torch import nn


def compute_loss(model, batch):
    x, y = batch
    return F.cross_entropy(model(x), y)


def train(model, loader, optimizer):
    model.train()
    for batch in loader:
        loss = compute_loss(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def evaluate(model, loader):
    model.eval()
    total = 0.0
    for batch in loader:
        total += compute_loss(model, batch).item()  # expect: TML201
    return total / len(loader)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 64)
        self.head = nn.Linear(64, 1)
        self.optimizer = torch.optim.Adam(self.parameters())

    def value(self, x):
        return self.head(F.relu(self.fc(x)))

    def train_net(self, s, r, s_next):
        target = r + 0.98 * self.value(s_next)  # expect: TML203
        loss = F.smooth_l1_loss(self.value(s), target.detach())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def values_of(critic: Critic, loader):
    found = []
    for s in loader:
        found.append(critic.value(s).mean().item())  # expect: TML201
    return found


def main(loader, batches):
    critic = Critic()
    for s, r, s_next in batches:
        critic.train_net(s, r, s_next)
    print(values_of(critic, loader))
