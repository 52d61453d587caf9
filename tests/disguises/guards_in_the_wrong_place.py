"""Gradients are off somewhere, only not where the forward runs."""

import torch
import torch.nn.functional as F
from torch import nn


def left_before(model, loader):
    model.eval()
    total = 0.0
    for x, y in loader:
        with torch.no_grad():
            x = (x - x.mean()) / x.std()
        total += F.cross_entropy(model(x), y).item()  # expect: TML201
    return total


def restored_too_early(model, loader):
    torch.set_grad_enabled(False)
    model.eval()
    batches = list(loader)
    torch.set_grad_enabled(True)
    return [model(x).argmax(1).tolist() for x, _ in batches]  # expect: TML201


def defined_inside(model):
    model.eval()
    with torch.no_grad():

        def predict(x):
            return model(x).argmax(1).tolist()  # expect: TML201

    return predict


def switched_on_again(model, loader):
    model.eval()
    outs = []
    with torch.no_grad():
        for x, _ in loader:
            with torch.enable_grad():
                outs.append(model(x))  # expect: TML101  # allow: TML201
    return [out.argmax(1).tolist() for out in outs]


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 2
    print(left_before(net, data), restored_too_early(net, data), defined_inside(net)(data[0][0]))
    print(switched_on_again(net, data))
