"""The cache is emptied now and then: after an epoch, between models, or once in many steps."""

import gc

import torch
from torch import nn


def free_memory():
    gc.collect()
    torch.cuda.empty_cache()


def now_and_then(step, every=100):
    if step % every == 0:
        torch.cuda.empty_cache()


class Sweep:
    def __init__(self):
        self.model = None

    def one(self, width, loader):
        self.model = nn.Linear(4, width)
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        for step, x in enumerate(loader):
            optimizer.zero_grad()
            self.model(x).mean().backward()
            optimizer.step()
            now_and_then(step)

    def run(self, widths, loader):
        scores = []
        for width in widths:
            self.one(width, loader)
            with torch.no_grad():
                scores.append(self.model(loader[0]).mean().item())
            self.model = None
            free_memory()
        return scores

    def each(self, widths, x):
        for width in widths:
            self.model = nn.Linear(4, width)
            with torch.no_grad():
                print(self.model(x).mean().item())
            self.model = None
            torch.cuda.empty_cache()


class Built:
    def build(self, width):
        self.model = nn.Linear(4, width)

    def compare(self, widths, x):
        for width in widths:
            self.build(width)
            with torch.no_grad():
                print(self.model(x).mean().item())
            del self.model
            torch.cuda.empty_cache()


def epochs(model, loader, optimizer, count=2):
    for _ in range(count):
        for x in loader:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
        free_memory()


if __name__ == "__main__":
    data = [torch.randn(2, 4)] * 3
    print(len(Sweep().run([2, 3], data)))
    Sweep().each([2, 3], data[0])
    Built().compare([2, 3], data[0])
    net = nn.Linear(4, 3)
    epochs(net, data, torch.optim.SGD(net.parameters(), lr=0.1))
