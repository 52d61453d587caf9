"""A method beside the forward collects one output a level, joins them and draws what it finds, all with grad on: the list
is as long as the network is deep, and is not what costs."""

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.stems = nn.ModuleList()
        self.classes = nn.ModuleList()
        for _ in range(3):
            self.stems.append(nn.Conv2d(8, 8, 1))
            self.classes.append(nn.Conv2d(8, 4, 1))

    def draw(self, levels, path):
        outputs = []
        for k, (stem, classes, level) in enumerate(zip(self.stems, self.classes, levels)):
            x = stem(level) * (k + 1)  # expect: TML201
            outputs.append(torch.cat([x, classes(x)], 1).flatten(2))
        joined = torch.cat(outputs, 2)
        torch.save((joined.max(1)[1] > 0).cpu(), path)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Conv2d(3, 8, 3)
        self.head = Head()

    def visualize(self, x, path):
        y = self.backbone(x)
        self.head.draw([y, y[..., ::2], y[..., ::4]], path)
