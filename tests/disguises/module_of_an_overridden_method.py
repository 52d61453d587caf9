"""The network is made by a method that the subclass overrides; one method runs it for another that evaluates."""

import numpy as np
import torch
from torch import nn


class Experiment:
    def __init__(self, device):
        self.device = device
        self.model = self.build().to(device)

    def build(self):
        raise NotImplementedError


class Forecast(Experiment):
    def build(self):
        return {"linear": nn.Linear}["linear"](4, 4)

    def validate(self, loader):
        self.model.eval()
        total = 0.0
        for x, y in loader:
            out = self.batch(x)  # expect: TML201
            total += (out - y).abs().mean().item()
        return total

    def train(self, loader, optimizer):
        self.model.train()
        for x, y in loader:
            out = self.batch(x)
            optimizer.zero_grad()
            (out - y).pow(2).mean().backward()
            optimizer.step()

    def batch(self, x):
        return self.model(x.float().to(self.device))


def matching(labels):
    return np.array(labels.clone()) == 1  # expect: TML303


if __name__ == "__main__":
    forecast, data = Forecast("cpu"), [(torch.randn(3, 4), torch.randn(3, 4))]
    forecast.train(data, torch.optim.SGD(forecast.model.parameters(), lr=0.1))
    print(forecast.validate(data), matching(torch.tensor([1, 2])))
