"""An image is fitted to what a network answers: the network is in eval mode, and its weights get gradients."""

import numpy as np
import torch
from torch import nn


def prepared(image):
    x = torch.from_numpy(image).float().unsqueeze(0)
    return x.clone().requires_grad_(True)


class Dream:
    def __init__(self, model, target):
        self.model = model
        self.model.eval()  # expect: TML506
        self.target = target
        self.image = np.random.uniform(0, 255, (3, 224, 224))

    def generate(self, steps):
        x = prepared(self.image)
        optimizer = torch.optim.SGD([x], lr=6)
        for _ in range(steps):
            loss = -self.model(x)[0, self.target]
            self.model.zero_grad()
            loss.backward()
            optimizer.step()
        return x


class Layered:
    def __init__(self, model, last):
        self.model = model
        self.model.eval()  # expect: TML506
        self.last = last
        self.image = np.random.uniform(0, 255, (3, 224, 224))

    def generate(self, steps):
        image = prepared(self.image)
        optimizer = torch.optim.SGD([image], lr=6)
        for _ in range(steps):
            optimizer.zero_grad()
            x = image
            for index, layer in enumerate(self.model):
                x = layer(x)
                if index == self.last:
                    break
            loss = -x[0, 3].mean()
            loss.backward()
            optimizer.step()
        return image


if __name__ == "__main__":
    Dream(nn.Sequential(nn.Flatten(), nn.LazyLinear(10)), 3).generate(100)
    Layered(nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()), 1).generate(100)
