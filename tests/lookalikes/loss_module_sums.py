"""A criterion collects its terms, sums them and returns the sum: the caller backpropagates it."""

import torch
import torch.nn.functional as F
from torch import nn


class MultiScaleLoss(nn.Module):
    def __init__(self, scales=3):
        super().__init__()
        self.scales = scales

    def forward(self, prediction, target):
        terms = []
        for _ in range(self.scales):
            terms.append(F.l1_loss(prediction, target))
            prediction, target = F.avg_pool2d(prediction, 2), F.avg_pool2d(target, 2)
        return sum(terms) / len(terms)


class DetectionLoss(nn.Module):
    weights = {"class": 1.0, "box": 2.0}

    def forward(self, outputs, targets):
        losses = {}
        for name, weight in self.weights.items():
            losses[name] = weight * F.smooth_l1_loss(outputs[name], targets[name])
        losses["total"] = sum(losses.values())
        return losses


def train(model, optimizer, loader):
    criterion, detection = MultiScaleLoss(), DetectionLoss()
    for x, y in loader:
        out = model(x)
        loss = criterion(out, y)
        losses = detection({"class": out, "box": out}, {"class": y, "box": y})
        optimizer.zero_grad()
        (loss + losses["total"]).backward()
        optimizer.step()
        print({name: round(value.item(), 3) for name, value in losses.items()})


if __name__ == "__main__":
    net = nn.Conv2d(1, 1, 3, padding=1)
    train(net, torch.optim.SGD(net.parameters(), lr=0.1), [(torch.randn(2, 1, 8, 8), torch.randn(2, 1, 8, 8))])
