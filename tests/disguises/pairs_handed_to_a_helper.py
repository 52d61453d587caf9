"""Rows and columns that are handed to a function which sums their products or squared differences."""

import torch
import torch.nn.functional as F
from torch import nn


def energy(x, y):
    return (x * y).sum(-1)


def distance(x, y):
    return ((x - y) ** 2).sum(-1)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(6, 32), nn.Linear(4, 32)

    def similar(self, a, b):
        logits = energy(self.left(a)[:, None, :], self.right(b)[None, :, :])  # expect: TML309
        return F.cross_entropy(logits, torch.arange(len(a))) + 0.1 * logits.logsumexp(1).pow(2).mean()

    def far(self, a, b):
        return distance(self.left(a).unsqueeze(1), self.right(b).unsqueeze(0)).mean()  # expect: TML309


if __name__ == "__main__":
    critic = Critic()
    print(critic.similar(torch.randn(8, 6), torch.randn(8, 4)), critic.far(torch.randn(8, 6), torch.randn(8, 4)))
