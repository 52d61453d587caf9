"""The networks lie in a dict of the trainer: handed in by whoever makes it, or filled key by key in its constructor."""

from collections import defaultdict

import torch
import torch.nn.functional as F
from torch import nn


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv1d(1, 1, 3, padding=1)

    def forward(self, z):
        return self.body(z).tanh()


class Distance(nn.Module):
    def forward(self, a, b):
        return (a - b).abs().mean(), (a.abs() - b.abs()).pow(2).mean()


class Trainer:
    def __init__(self, loaders, model, criterion, optimizer):
        self.loaders = loaders
        self.model = model
        self.criterion = criterion
        self.optimizer = optimizer
        self.totals = defaultdict(float)

    def _train_step(self, batch):
        z, y = batch
        near, far = self.criterion["distance"](self.model["generator"](z), y)
        self.optimizer["generator"].zero_grad()
        (near + far).backward()
        self.optimizer["generator"].step()

    def _eval_step(self, batch):
        z, y = batch
        made = self.model["generator"](z)  # expect: TML201
        near, far = self.criterion["distance"](made, y)
        self.totals["near"] += near.item()
        self.totals["far"] += far.item()

    def run(self):
        for batch in self.loaders["train"]:
            self._train_step(batch)
        for key in self.model:
            self.model[key].eval()
        for batch in self.loaders["dev"]:
            self._eval_step(batch)


class Pair:
    def __init__(self):
        self.models = {}
        self.models["encoder"] = nn.Linear(4, 2)
        self.models["decoder"] = nn.Linear(2, 4)

    def errors(self, loader):
        found = []
        for x in loader:
            code = self.models["encoder"](x)  # expect: TML201
            found.append(F.mse_loss(self.models["decoder"](code), x).item())
        return found


if __name__ == "__main__":
    nets = {"generator": Generator()}
    data = [(torch.randn(2, 1, 8), torch.randn(2, 1, 8))] * 2
    steps = {name: torch.optim.SGD(net.parameters(), lr=0.1) for name, net in nets.items()}
    Trainer({"train": data, "dev": data}, nets, {"distance": Distance()}, steps).run()
    print(Pair().errors([torch.randn(3, 4)] * 2))
