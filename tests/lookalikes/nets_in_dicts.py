"""Networks in a dict of the trainer that are frozen there, run under `no_grad` by the caller, or trained through it."""

import torch
import torch.nn.functional as F
from torch import nn


class Distiller:
    def __init__(self):
        self.nets = {"teacher": nn.Linear(4, 2), "student": nn.Linear(4, 2)}
        self.nets["teacher"].requires_grad_(False)
        self.optimizer = torch.optim.SGD(self.nets["student"].parameters(), lr=0.1)

    def labels(self, loader):
        return [self.nets["teacher"](x).argmax(1).tolist() for x in loader]

    def step(self, x):
        wanted = self.nets["teacher"](x)
        loss = F.mse_loss(self.nets["student"](x), wanted)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


class Frozen:
    def __init__(self, nets):
        self.nets = nets

    def freeze(self):
        for net in self.nets.values():
            for weight in net.parameters():
                weight.requires_grad = False

    def scores(self, loader):
        return [self.nets["first"](x).sum().item() for x in loader]


class Evaluator:
    def __init__(self, nets):
        self.nets = nets

    def score(self, x):
        return self.nets["first"](x).sum().item()

    @torch.no_grad()
    def run(self, loader):
        return [self.score(x) for x in loader]


if __name__ == "__main__":
    batches = [torch.randn(3, 4)] * 2
    distiller = Distiller()
    print([distiller.step(x) for x in batches], distiller.labels(batches))
    frozen = Frozen({"first": nn.Linear(4, 1)})
    frozen.freeze()
    print(frozen.scores(batches), Evaluator({"first": nn.Linear(4, 1)}).run(batches))
