"""What generators yield: walked by a backward, iterated over without grad, or handed on out of sight."""

import torch
import torch.nn.functional as F
from torch import nn


class Runner:
    def __init__(self, model):
        self.model = model.eval()

    def trained(self, loader):
        for x in loader:
            yield self.model(x)

    def read(self, loader):
        for x in loader:
            yield self.model(x)

    def open(self, loader):
        for x in loader:
            yield self.model(x)


def main(loader, sink):
    net = nn.Sequential(nn.Linear(32, 512), nn.ReLU(), nn.Linear(512, 4))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    runner = Runner(net)
    for out in runner.trained(loader):
        loss = F.cross_entropy(out, out.argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    results = runner.read(loader)
    with torch.no_grad():
        for out in results:
            print(out.argmax(1).tolist())
    sink(runner.open(loader))
