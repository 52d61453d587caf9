"""The only channel is resized, and read."""

from torch import nn
import torch
import torch.nn.functional as F


class Basis(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.size = size

    def forward(self, knots: torch.Tensor, batch: int):
        knots = knots[:, None, None, :]
        made = torch.zeros((len(knots), self.size)).to(knots.device)
        for i in range(len(knots) // batch):
            part = F.interpolate(knots[i * batch : (i + 1) * batch], size=self.size, mode="bicubic")
            made[i * batch : (i + 1) * batch] += part[:, 0, 0, :]
        return made
