"""No parameter requires a gradient and no input does: a forward records nothing."""

import torch
from torch import nn


class Extractor:
    def __init__(self, backbone):
        self.backbone = backbone.eval().requires_grad_(False)

    def features(self, images):
        return self.backbone(images).flatten(1)


def load_teacher():
    teacher = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    for param in teacher.parameters():
        param.requires_grad = False
    teacher.eval()
    return teacher


def pseudo_labels(loader):
    teacher = load_teacher()
    labels = []
    for x in loader:
        labels.append(teacher(x).argmax(1).cpu())
    return torch.cat(labels)


def index(loader):
    encoder = nn.Linear(4, 2)
    encoder.requires_grad_(False)
    encoder.eval()
    total = torch.zeros(2)
    for x in loader:
        total += encoder(x).sum(0)
    return total


if __name__ == "__main__":
    data = [torch.randn(5, 4)] * 2
    print(pseudo_labels(data), index(data), Extractor(nn.Linear(4, 2)).features(data[0]).shape)
