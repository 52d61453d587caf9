"""The gradient mode comes from a caller two levels up, from a lambda, or from a nested function's decorator."""

import torch
import torch.nn.functional as F
from torch import nn


def one(model, x, y):
    model.eval()
    return F.cross_entropy(model(x), y)


def several(model, loader):
    return [one(model, x, y) for x, y in loader]


@torch.no_grad()
def evaluate(model, loader):
    losses = several(model, loader)
    return float(sum(losses) / len(losses))


def validation(model, loader):
    @torch.inference_mode()
    def run():
        total = 0.0
        for x, y in loader:
            total += F.cross_entropy(model(x), y)
        return float(total)

    model.eval()
    return run()


class Evaluator:
    def __init__(self, model):
        self.model = model
        self.totals = {"loss": 0.0}

    def _add(self, x, y):
        self.totals["loss"] += F.cross_entropy(self.model(x), y)

    def evaluate(self, loader):
        self.model.eval()
        with torch.no_grad():
            for x, y in loader:
                self._add(x, y)
        return float(self.totals["loss"])


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 2
    print(evaluate(net, data), validation(net, data), Evaluator(net).evaluate(data))
