"""What the optimizer moves is made before the loop, by a helper: tensors without anything recorded behind them, that no
retained graph is needed for."""

import torch
from torch import nn


class Inversion:
    def __init__(self, net: nn.Module, shape, rounds=3):
        self.net = net
        self.shape = shape
        self.rounds = rounds

    def _start(self):
        image = torch.rand(1, self.shape, requires_grad=True)
        label = torch.randn(1, 2, requires_grad=True)
        return image, label, torch.optim.Adam([image, label], lr=0.1)

    def _distance(self, image, label):
        loss = nn.functional.cross_entropy(self.net(image), label.softmax(dim=-1))
        grads = torch.autograd.grad(loss, list(self.net.parameters()), create_graph=True)
        return sum(g.pow(2).sum() for g in grads)

    def attack(self):
        image, label, optimizer = self._start()
        best = float("inf")
        for _ in range(self.rounds):
            optimizer.zero_grad()
            distance = self._distance(image, label)
            distance.backward(retain_graph=True)  # expect: TML109
            optimizer.step()
            best = min(best, distance.item())
        return image.detach(), best


if __name__ == "__main__":
    print(Inversion(nn.Linear(4, 2), 4).attack())
