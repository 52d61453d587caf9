"""A helper joins what was collected with what is new; the loop is the caller's."""

import torch
from torch import nn


def joined(collected, new):
    if isinstance(collected, (list, tuple)):
        return type(collected)(joined(c, n) for c, n in zip(collected, new))
    return torch.cat((collected, new), dim=0)  # expect: TML307


def evaluate(model, loader):
    everything = None
    for x in loader:
        with torch.no_grad():
            out = model(x)
        everything = out if everything is None else joined(everything, out)  # expect: TML401
    return everything.argmax(1).tolist()


def predict(model, loader, device):
    logits, labels = None, None
    for x, y in loader:
        with torch.no_grad():
            out = model(x.to(device))
        logits = out if logits is None else joined(logits, out)  # expect: TML401
        labels = y if labels is None else joined(labels, y)
    return float((logits.argmax(1).cpu() == labels).float().mean())


if __name__ == "__main__":
    print(evaluate(nn.Linear(3, 2), [torch.randn(2, 3)] * 3))
    print(predict(nn.Linear(3, 2), [(torch.randn(2, 3), torch.zeros(2))] * 3, "cpu"))
