"""Formulas that differ from the built-in, layouts that a call keeps, and copies that are written."""

import torch
import torch.nn.functional as F
from torch import nn


def over_the_batch(x):
    spread = x.var(0, keepdim=True)
    return (x - x.mean(0, keepdim=True)) / torch.sqrt(spread + 1e-5)


def masked_weights(x, mask):
    e = torch.exp(x) * mask
    return e / e.sum(-1, keepdim=True)


def number_a_row(positive, negative, threshold):
    good, bad = positive.pow(2).mean(1), negative.pow(2).mean(1)
    return torch.log1p(torch.exp(torch.cat([-good + threshold, bad - threshold]))).mean()


def one_sided(x, centre):
    return ((x.unsqueeze(1).expand(-1, 3, -1) - centre) ** 2).sum(2)


def entropy(x):
    p = torch.sigmoid(x)
    return -(p * torch.log(p) + (1 - p) * torch.log(1 - p)).mean()


def same_strides(x):
    return torch.empty_like(x).contiguous(), torch.zeros_like(x.transpose(0, 1)).contiguous()


def channels_last():
    x = torch.zeros(2, 3, 4, 4).to(memory_format=torch.channels_last)
    y = torch.zeros(2, 3, 4, 4).clone(memory_format=torch.channels_last)
    return x.contiguous(), y.contiguous()


def shifted_training_loss(logits, labels):
    cut = logits[..., :-1, :].contiguous()
    return F.cross_entropy(cut.view(-1, cut.size(-1)), labels[..., 1:].reshape(-1))


def written_rows(x, n):
    y = x.unsqueeze(0).repeat(n, 1)
    y[0] += 1
    return y


class WritesItsInput(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        identity = x.clone()
        return self.act(x) + identity


class SizeOfTheInput(nn.Module):
    def forward(self, x):
        return x + torch.arange(x.size(1), device=x.device), torch.tensor([x.size(0), x.size(1)])


class WeightsAsked(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2)

    def forward(self, x):
        mixed, weights = self.attention(x, x, x, need_weights=True)
        return mixed, weights.mean()


class EveryWord(nn.Module):
    def __init__(self, width=4, words=7):
        super().__init__()
        self.head = nn.Linear(width, words)

    def forward(self, x):
        logits = self.head(x)
        return logits[:, -1, :], logits.mean()

    def first_class(self, x):
        return self.head(x)[:, -1]


if __name__ == "__main__":
    x = torch.randn(3, 4)
    print(over_the_batch(x).shape, masked_weights(x, x > 0).shape, number_a_row(x, x, 1.0), entropy(x))
    print(one_sided(x, torch.randn(3, 4)).shape, written_rows(x[0], 2).shape, WritesItsInput()(x).shape)
