"""Formulas, distances, targets and constants in the spellings of real code."""

import torch
import torch.nn.functional as F
from torch import nn


class Swish(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Sigmoid()

    def forward(self, x):
        return x * self.gate(x)  # expect: TML313


class WeightFirst(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), 1e-6

    def forward(self, x):
        spread = x.pow(2).mean(-1, keepdim=True)
        return self.weight * x * torch.rsqrt(spread + self.eps)  # expect: TML313


class OwnVariance(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        u = x.mean(-1, keepdim=True)
        s = (x - u).pow(2).mean(-1, keepdim=True)
        return self.weight * ((x - u) / torch.sqrt(s + 1e-6)) + self.bias  # expect: TML313


def stable_softmax(x):
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)  # expect: TML313


def prototype_distances(x, y):
    n, m, d = x.size(0), y.size(0), x.size(1)
    x = x.unsqueeze(1).expand(n, m, d)
    y = y.unsqueeze(0).expand(n, m, d)
    return torch.pow(x - y, 2).sum(2)  # expect: TML309


def kernel_matrix(a, b, width):
    both = torch.cat([a, b])
    n = int(both.size(0))
    rows = both.unsqueeze(0).expand(n, n, int(both.size(1)))
    columns = both.unsqueeze(1).expand(n, n, int(both.size(1)))
    distance = ((rows - columns) ** 2).sum(2)  # expect: TML309
    return torch.exp(-distance / width)


class LabelSmoothing(nn.Module):
    def __init__(self, classes, smoothing=0.1):
        super().__init__()
        self.confidence, self.smoothing, self.classes = 1.0 - smoothing, smoothing, classes

    def forward(self, prediction, target):
        prediction = prediction.log_softmax(dim=-1)
        with torch.no_grad():
            wanted = torch.zeros_like(prediction)
            wanted.fill_(self.smoothing / (self.classes - 1))
            wanted.scatter_(1, target.unsqueeze(1), self.confidence)  # expect: TML317
        return torch.mean(torch.sum(-wanted * prediction, dim=-1))


def guarded_log(x, y):
    p = F.softmax(x, dim=-1)
    return F.nll_loss((p + 1e-8).log(), y)  # expect: TML312


def binary_by_hand(x, y):
    p = torch.sigmoid(x)
    return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()  # expect: TML312


class Constants(nn.Module):
    def __init__(self, size=4):
        super().__init__()
        self.size, self.table = size, nn.Embedding(size, 3)

    def _mask(self):
        return torch.tril(torch.ones(self.size, self.size))  # expect: TML314

    def forward(self, x):
        places = self.table(torch.arange(self.size, device=x.device))  # expect: TML314
        edges = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])  # expect: TML314
        same = torch.eye(self.size)  # expect: TML314
        return x.masked_fill(self._mask() == 0, 0.0) @ same + places.sum() + edges.sum()


def leading_vectors(x, k):
    u, s, vh = torch.linalg.svd(x, full_matrices=True)  # expect: TML316
    return u[:, :k] @ torch.diag(s[:k]) @ vh[:k, :]


def old_spelling(x, k):
    u, s, v = torch.svd(x, some=False)  # expect: TML316
    return u[:, :k], v[:, :k]


class Asked(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.up = nn.MultiheadAttention(4, 2), nn.Upsample(scale_factor=2)

    def forward(self, x, maps):
        mixed = self.attention(x, x, x, need_weights=True)[0]  # expect: TML315
        return mixed.sum() + self.up(maps)[:, 0].sum()  # expect: TML319


class LastWord(nn.Module):
    def __init__(self, width=4, words=7):
        super().__init__()
        self.body, self.head = nn.TransformerEncoderLayer(width, 2), nn.Linear(width, words)

    def forward(self, x):
        logits = self.head(self.body(x))  # expect: TML319
        return logits[:, -1, :]


def rectified(x):
    return torch.max(x, torch.zeros_like(x))  # expect: TML320


if __name__ == "__main__":
    x, y = torch.randn(3, 4), torch.tensor([0, 1, 2])
    print(Swish()(x).shape, WeightFirst()(x).shape, OwnVariance()(x).shape, stable_softmax(x).shape)
    print(prototype_distances(x, x).shape, kernel_matrix(x, x, 2.0).shape, LabelSmoothing(4)(x, y))
    print(guarded_log(x, y), binary_by_hand(x, (x > 0).float()), Constants()(torch.randn(4, 4)).shape)
    print(leading_vectors(x, 2).shape, old_spelling(x, 2)[0].shape, rectified(x).shape)
    print(LastWord()(torch.randn(2, 3, 4)).shape)
    print(Asked()(torch.randn(2, 1, 4), torch.randn(1, 2, 4, 4)))
