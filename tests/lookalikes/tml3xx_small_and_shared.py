"""Attention that is small, copies that are small or that keep the caller's memory apart, and what is only compared."""

import copy

import numpy as np
import torch
from torch import nn


class ChannelAttention(nn.Module):
    def __init__(self, width=8, heads=2):
        super().__init__()
        self.heads, self.qkv = heads, nn.Linear(width, 3 * width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        weights = (q.transpose(-1, -2) @ k).softmax(dim=-1)
        return (weights @ v.transpose(-1, -2)).transpose(-1, -2).transpose(1, 2).reshape(b, n, c)


class CrossCovariance(nn.Module):
    def __init__(self, width=8, heads=2):
        super().__init__()
        self.heads, self.qkv = heads, nn.Linear(width, 3 * width)
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 4, 1).unbind(0)
        weights = nn.functional.normalize(q, dim=-1) @ nn.functional.normalize(k, dim=-1).transpose(-2, -1)
        weights = (weights * self.temperature).softmax(dim=-1)
        return (weights @ v).permute(0, 3, 1, 2).reshape(b, n, c)


class OneQuery(nn.Module):
    def __init__(self, width=8, heads=2):
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        b, n, c = x.shape
        q = self.query(x[:, 0:1]).reshape(b, 1, self.heads, c // self.heads).permute(0, 2, 1, 3)
        k = self.key(x).reshape(b, n, self.heads, c // self.heads).permute(0, 2, 1, 3)
        v = self.value(x).reshape(b, n, self.heads, c // self.heads).permute(0, 2, 1, 3)
        weights = (q @ k.transpose(-2, -1)) * self.scale
        return (weights.softmax(-1) @ v).transpose(1, 2).reshape(b, 1, c)


def position_bias(table, index, scores):
    bias = table[index.view(-1)].view(4, 4, -1).permute(2, 0, 1).contiguous()
    return scores + bias.unsqueeze(0)


def turned_heads(q, k):
    return q @ k.transpose(-2, -1).contiguous()


def own_memory(box):
    rows = torch.from_numpy(np.asarray(box)).clone()
    return rows[:, 2] - rows[:, 0]


def anchors(count, targets):
    which = torch.arange(count).float().view(count, 1).repeat(1, len(targets))
    return which + targets


def masked(mask, x):
    return torch.where(mask, x, torch.zeros_like(x))


def updated(model: nn.Module, batch, optimizer):
    model.to("cuda")
    before = copy.deepcopy(model.state_dict())
    model(batch.to("cuda")).sum().backward()
    optimizer.step()
    return [torch.allclose(a, b) for a, b in zip(before.values(), model.state_dict().values())]


if __name__ == "__main__":
    x = torch.randn(2, 3, 8)
    print(ChannelAttention()(x).shape, CrossCovariance()(x).shape, OneQuery()(x).shape)
    print(position_bias(torch.randn(9, 2), torch.zeros(4, 4).long(), torch.randn(1, 2, 4, 4)).shape)
