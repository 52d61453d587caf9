"""Gradients turned off under other names."""

import contextlib
import functools

import torch
import torch as th
import torch.nn.functional as F
from torch import no_grad as ng
from torch import nn
from torch.autograd import no_grad as autograd_no_grad

evaluation = torch.inference_mode


@ng()
def validate(model, loader):
    model.eval()
    losses = []
    for x, y in loader:
        losses.append(F.cross_entropy(model(x), y))
    return torch.stack(losses).mean()


@th.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = 0
    for x, y in loader:
        hits += (model(x).argmax(1) == y).float().mean()
    return float(hits)


@evaluation()
def predict(model, x):
    model.eval()
    return model(x).argmax(1)


@contextlib.contextmanager
def quiet(model):
    was = model.training
    model.eval()
    with torch.no_grad():
        yield model
    model.train(was)


def sampled(model, loader):
    total = 0.0
    with quiet(model) as net:
        for x, y in loader:
            total += F.cross_entropy(net(x), y)
    return float(total)


def without_graph(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        with torch.no_grad():
            return function(*args, **kwargs)

    return inner


@without_graph
def test(model, loader):
    model.eval()
    return sum(F.cross_entropy(model(x), y) for x, y in loader).item()


@autograd_no_grad()
def embed(model, x):
    model.eval()
    return model(x).mean(0).tolist()


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 2
    print(validate(net, data), accuracy(net, data), predict(net, data[0][0]), sampled(net, data), test(net, data))
    print(embed(net, data[0][0]))
