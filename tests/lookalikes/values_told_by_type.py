"""What is not a tensor is kept as it is, tensors are detached: tests of the type tell the two apart."""

import numbers

import torch
import torch.nn.functional as F
from torch import nn


class Reporter:
    def __init__(self):
        self.seen = {}

    def observe(self, values, prefix=""):
        for key, value in values.items():
            if isinstance(value, torch.Tensor):
                value = value.detach()
            self.seen.setdefault(prefix + key, []).append(value)

    def observe_numbers(self, key, value):
        if not isinstance(value, (int, float)):
            value = value.item()
        self.seen.setdefault(key, []).append(value)

    def observe_either(self, key, value):
        value = value.detach().cpu() if torch.is_tensor(value) else value
        self.seen.setdefault(key, []).append(value)

    def observe_known(self, key, value):
        if isinstance(value, numbers.Number):
            self.seen.setdefault(key, []).append(value)
        elif hasattr(value, "detach"):
            self.seen.setdefault(key, []).append(float(value))


def train(model, optimizer, loader):
    reporter = Reporter()
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        margin = out.softmax(1).amax(1).mean()
        reporter.observe({"margin": margin, "rows": len(x)}, "train/")
        reporter.observe_numbers("loss", loss)
        reporter.observe_either("spread", out.var())
        reporter.observe_known("top", out.amax())
    return reporter.seen


if __name__ == "__main__":
    net = nn.Linear(4, 3)
    data = [(torch.randn(6, 4), torch.arange(6) % 3)] * 2
    print({k: len(v) for k, v in train(net, torch.optim.SGD(net.parameters(), lr=0.1), data).items()})
