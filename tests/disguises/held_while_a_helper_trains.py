"""A checkpoint is still bound while a helper trains the model by a method that only the model's class tells."""

import sys

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4096, 4096)

    def forward(self, x):
        return self.body(x)

    def run_epoch(self, loader, optimizer):
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.mse_loss(self.forward(x), y)
            loss.backward()
            optimizer.step()


def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(10):
        model.run_epoch(loader, optimizer)
    return model


if __name__ == "__main__":
    net = Net().cuda()
    saved = torch.load(sys.argv[1], map_location="cuda")  # expect: TML601, TML602
    net.load_state_dict(saved["state"])
    train(net, [])
