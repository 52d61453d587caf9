"""Images are fitted to networks whose weights are frozen where they are made, or trained with what a call gives."""

import numpy as np
import torch
from torch import nn


def prepared(image):
    x = torch.from_numpy(image).float().unsqueeze(0)
    return x.clone().requires_grad_(True)


def groups(net):
    return [{"params": [p for p in net.parameters() if p.requires_grad], "lr": 0.1}]


class Dream:
    def __init__(self, model, target):
        self.model = model
        self.model.eval()
        for p in self.model.parameters():
            p.requires_grad = False
        self.target = target
        self.image = np.random.uniform(0, 255, (3, 224, 224))

    def generate(self, steps):
        x = prepared(self.image)
        optimizer = torch.optim.SGD([x], lr=6)
        for _ in range(steps):
            loss = -self.model(x)[0, self.target]
            loss.backward()
            optimizer.step()
        return x


class Layered:
    def __init__(self, model, last):
        self.model = model
        self.model.eval()
        self.last = last

    def freeze(self):
        self.model.requires_grad_(False)
        return self

    def generate(self, image, steps):
        x = prepared(image)
        optimizer = torch.optim.SGD([x], lr=6)
        for _ in range(steps):
            out = x
            for layer in self.model:
                out = layer(out)
            loss = -out[0, 3].mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return x


class Tuned:
    def __init__(self, model):
        self.model = model.eval()
        self.optimizer = torch.optim.SGD(groups(model), lr=0.1)

    def step(self, x):
        loss = self.model(x).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


if __name__ == "__main__":
    net = nn.Sequential(nn.Flatten(), nn.LazyLinear(10))
    Dream(net, 3).generate(100)
    Layered(net, 1).freeze().generate(np.zeros((3, 8, 8)), 100)
    Tuned(nn.Linear(4, 2)).step(torch.randn(2, 4))
