"""Objects are called through the attributes and the containers of modules that hold them."""

import torch
import torch.nn.functional as F
from torch import nn


class Score(nn.Module):
    def __init__(self):
        super().__init__()
        self.values = []

    def forward(self, probabilities, target):
        score = (probabilities * target).sum(1)
        self.values.append(score)  # expect: TML103
        return score.mean()


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.seen = None

    def forward(self, x):
        self.seen = x  # expect: TML103
        return torch.relu(self.linear(x))


class Stack(nn.Module):
    def __init__(self, width, depth, parts):
        super().__init__()
        self.layers = nn.ModuleList(Layer(width) for _ in range(depth))
        self.parts = nn.ModuleDict(parts)
        self.kept = {}

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = layer(x)
        return self.layers[-1](x)

    def record(self, x):
        for name, part in self.parts.items():
            x = part(x)
            self.kept[name] = x  # expect: TML103
        return {name: value.detach().mean().item() for name, value in self.kept.items()}


class Trainer:
    def __init__(self):
        self.net = Stack(4, 2, {"first": nn.Linear(4, 4)})
        self.score = Score()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def step(self, x, target):
        out = self.net(x).softmax(1)
        loss = F.mse_loss(out, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item(), self.score(out, target).item()

    def report(self):
        spread = max(layer.seen.detach().std().item() for layer in self.net.layers)
        return float(torch.cat(self.score.values).mean()), spread


if __name__ == "__main__":
    trainer = Trainer()
    print(trainer.step(torch.randn(5, 4), torch.rand(5, 4)), trainer.report(), trainer.net.record(torch.randn(2, 4)))
