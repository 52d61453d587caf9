"""These losses return a scalar on the storage of the whole elementwise result: detaching lets go of the graph only."""

import torch
import torch.nn.functional as F
from torch import nn


def denoise(model, optimizer, loader):
    losses, smooth = [], []
    for x in loader:
        out = model(x)
        loss = F.mse_loss(out, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())  # expect: TML101
        with torch.no_grad():
            other = F.smooth_l1_loss(out, x)
        smooth.append(other)  # expect: TML101
    return [float(v) for v in losses + smooth]


def classify(model, optimizer, loader):
    criterion = nn.BCELoss()
    history = []
    for x in loader:
        loss = criterion(torch.sigmoid(model(x)), (x > 0).float())  # expect: TML312
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.data)  # expect: TML101
    return [float(v) for v in history]


if __name__ == "__main__":
    net, data = nn.Linear(4, 4), [torch.randn(6, 4)] * 3
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    print(denoise(net, sgd, data), classify(net, sgd, data))
