"""Graphs retained for nothing: the settings that come in with a number as default bring none, where no call sets them."""

import torch
from torch import nn


class Trainer:
    def __init__(self, net, gamma=0.8):
        self.net, self.gamma = net, gamma
        self.optimizer = torch.optim.Adam(net.parameters())

    def iteration(self, batches, train=True):
        total = 0.0
        for x, y in batches:
            out = self.net(x)  # allow: TML201
            loss = self.gamma * (out - y).pow(2).mean() + (1 - self.gamma) * out.abs().mean()
            if train:
                self.optimizer.zero_grad()
                loss.backward(retain_graph=True)  # expect: TML109
                self.optimizer.step()
            total += loss.item()
        return total


class Penalty:
    def __init__(self, critic):
        self.critic = critic

    def __penalty(self, real, weight=10):
        real = real.detach().requires_grad_()
        out = self.critic(real)
        (grad,) = torch.autograd.grad(out.sum(), real, create_graph=True)
        penalty = ((grad.norm(dim=1) - 1) ** 2).mean() * weight
        penalty.backward(retain_graph=True)  # expect: TML109
        return penalty.item()

    def loss(self, real):
        value = -self.critic(real).mean()
        value.backward()
        return value.item() + self.__penalty(real)


if __name__ == "__main__":
    batches = [(torch.randn(4, 8), torch.randn(4, 8)) for _ in range(3)]
    trainer = Trainer(nn.Linear(8, 8))
    print(trainer.iteration(batches), trainer.iteration(batches, train=False))
    print(Penalty(nn.Linear(8, 1)).loss(torch.randn(4, 8)))
