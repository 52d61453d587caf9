"""Exceptions of failed steps in tuples, lists and names, as `sys.exc_info()`, by a method that keeps them; retries that go
through the function itself."""

import sys

import torch
from torch import nn


class Search:
    def __init__(self):
        self.failures = []

    def fit(self, grid, x):
        for width in grid:
            try:
                nn.Linear(x.shape[1], width)(x).mean().backward()
            except ValueError as error:
                self.failures.append((width, error))  # expect: TML111
        return [str(error) for _, error in self.failures]


def collect(model, xs):
    problems = []
    for x in xs:
        try:
            model(x).mean().backward()
        except ValueError as error:
            problems.append({"rows": len(x), "error": error})  # expect: TML111
    return len(problems)


def attempts(model, x):
    last = None
    for _ in range(3):
        try:
            return model(x)
        except RuntimeError as error:
            last = error  # expect: TML111
            x = x[: len(x) // 2]
    raise last


def sized(run):
    def wrapped(rows, *args):
        last = None
        while rows:
            try:
                return run(rows, *args)
            except RuntimeError as error:
                if "out of memory" not in str(error):
                    raise
                last = error  # expect: TML111
                rows //= 2
        raise RuntimeError("no batch is small enough") from last

    return wrapped


class Job:
    def __init__(self):
        self.error, self.failures = None, []

    def note(self, error):
        self.failures.append(error)

    def run(self, net, x):
        try:
            return net(x).mean().backward()
        except RuntimeError:
            self.error = sys.exc_info()  # expect: TML111
        except ValueError as error:
            self.note(error)  # expect: TML111
        except TypeError as error:
            self.failures.append(error.__traceback__)  # expect: TML111


def splitting(run):
    def wrapped(batch):
        try:
            return run(batch)
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            first, second = batch.chunk(2)
            return torch.cat([wrapped(first), wrapped(second)])  # expect: TML111

    return wrapped


class Predictor:
    def __init__(self, net):
        self.net = net

    def predict(self, x):
        try:
            return self.net(x)
        except torch.cuda.OutOfMemoryError:
            first, second = x.chunk(2)
            return torch.cat([self.predict(first), self.predict(second)])  # expect: TML111


if __name__ == "__main__":
    net, data = nn.Linear(3, 2), torch.randn(4, 3)
    print(Search().fit([2], data), collect(net, [data]), attempts(net, data).shape, splitting(net)(data).shape)
    print(Job().run(net, data), sized(lambda rows: net(data[:rows]).shape)(4))
    print(Predictor(net).predict(data).shape)
