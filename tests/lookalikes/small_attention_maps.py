"""Attention whose map is small: one query, or a batch in which each token is one number."""

import torch
from torch import nn


class OneQuery(nn.Module):
    def __init__(self, dim, h):
        super().__init__()
        self.num_heads = h
        self.head_dim = dim // h
        self.scale = self.head_dim**-0.5
        self.q = nn.Linear(dim, dim)
        self.kv = nn.Linear(dim, 2 * dim)
        self.attn_drop = nn.Dropout(0.0)

    def forward(self, x):
        B, N, C = x.shape
        kv = self.kv(x).reshape(B, N, 2, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        k, v = kv.unbind(0)
        q = self.q(x[:, :1, :]).reshape(B, self.num_heads, 1, self.head_dim) * self.scale
        attn = q @ k.transpose(-2, -1)
        attn = attn.softmax(dim=-1)
        attn = self.attn_drop(attn)
        return (attn @ v).transpose(1, 2).reshape(B, 1, C)


class Scalars(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(1, 3)

    def forward(self, x):
        q, k, v = self.qkv(x).unbind(-1)
        attn = (q @ k.transpose(-1, -2)).softmax(dim=-1)
        return (attn @ v).unsqueeze(-1)


if __name__ == "__main__":
    print(OneQuery(8, 2)(torch.randn(1, 5, 8)).shape, Scalars()(torch.randn(2, 3, 1)).shape)
