"""What is made before the loop is no leaf but computed from one: each round walks that part of the graph again."""

import torch
from torch import nn


class Inversion:
    def __init__(self, net: nn.Module, shape, rounds=3):
        self.net = net
        self.shape = shape
        self.rounds = rounds

    def _start(self):
        seed = torch.rand(1, self.shape, requires_grad=True)
        return seed.tanh(), torch.optim.Adam([seed], lr=0.1)

    def attack(self):
        image, optimizer = self._start()
        best = float("inf")
        for _ in range(self.rounds):
            optimizer.zero_grad()
            distance = self.net(image).pow(2).sum()
            distance.backward(retain_graph=True)
            optimizer.step()
            best = min(best, distance.item())
        return best


if __name__ == "__main__":
    print(Inversion(nn.Linear(4, 2), 4).attack())
