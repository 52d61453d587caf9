"""Copies of views before operators that read strides, and calls on what is contiguous already."""

import torch
import torch.nn.functional as F
from torch import nn


@torch.no_grad()
def gated(x):
    left, right = torch.chunk(torch.relu(torch.matmul(x, x.t())), 2, dim=1)
    return left.contiguous() * right.contiguous().sigmoid()  # expect: TML302, TML302


@torch.no_grad()
def column_sums(a, b):
    scores = a @ b
    return scores.transpose(0, 1).contiguous().sum(0)  # expect: TML302


@torch.no_grad()
def spread_out(row, n):
    weights = torch.softmax(row, dim=0)
    table = weights.unsqueeze(0).expand(n, -1).contiguous()  # expect: TML302
    return torch.ones(n, 1) * table


@torch.no_grad()
def even(n):
    grid = torch.zeros(n, n).contiguous()  # expect: TML301
    halves = grid[:, ::2].contiguous()  # expect: TML302
    return torch.exp(halves).amax()


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 6)

    def forward(self, parts):
        x = torch.stack(parts).contiguous()  # expect: TML301
        y = self.linear(x).contiguous()  # expect: TML301
        y = y.view(-1, 2, 3).contiguous()  # expect: TML301
        return y.transpose(1, 2).contiguous().contiguous().view(-1)  # expect: TML301


def merge(q, heads):
    b, n, c = q.size()
    q = torch.cat([q, q], dim=-1).view(b, n, heads, -1).permute(0, 2, 1, 3).contiguous()
    q = q.view(b * heads, n, -1)
    return torch.bmm(q, q.mT).contiguous().sum()  # expect: TML301


def rows(x):
    y = F.one_hot(x, 4).contiguous()  # expect: TML301
    return y.view(-1)[1:].contiguous().sum()  # expect: TML301


if __name__ == "__main__":
    m = torch.randn(4, 4)
    print(gated(m).shape, column_sums(m, m), spread_out(m[0], 3).shape, even(4), rows(torch.arange(4)))
    Head()([m, m]).sum().backward()
    print(merge(torch.randn(2, 3, 4), 2))
