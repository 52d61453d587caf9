"""Neurons keep their state between batches; a class method detaches it in place, for all of them."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad / (1 + 25 * x.abs()) ** 2


class Neuron(nn.Module):
    instances = []

    def __init__(self, features):
        super().__init__()
        Neuron.instances.append(self)
        self.recurrent = nn.Linear(features, features)
        self.potential, self.spikes = torch.zeros(1), torch.zeros(1)

    def fire(self, potential):
        return Spike.apply(potential - 1.0)

    def forward(self, x):
        if self.potential.shape != x.shape:
            self.potential, self.spikes = torch.zeros_like(x), torch.zeros_like(x)
        self.potential = 0.9 * self.potential + x + self.recurrent(self.spikes)
        self.spikes = self.fire(self.potential)
        return self.spikes

    @classmethod
    def detach_hidden(cls):
        for neuron in cls.instances:
            neuron.potential.detach_()
            neuron.spikes.detach_()


def train(data):
    net = nn.Sequential(nn.Linear(20, 64), Neuron(64), nn.Linear(64, 4))
    opt = torch.optim.SGD(net.parameters(), lr=1e-2)
    for x, y in data:
        Neuron.detach_hidden()
        loss = F.cross_entropy(torch.stack([net(step) for step in x]).mean(0), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net
