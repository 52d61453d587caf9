import torch.nn.functional as F
from torch import nn


class Smooth(nn.Module):
    def forward(self, x):
        return F.avg_pool1d(x, 3, 1, 1)
