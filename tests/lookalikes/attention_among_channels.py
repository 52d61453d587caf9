"""Cross-covariance attention: the scores are channels by channels, and einops' patterns say so."""

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import einsum, nn


def normalised(t):
    return F.normalize(t, dim=-1, p=2)


class CrossCovariance(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(dim, dim * 3)
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))
        self.attend = nn.Softmax(dim=-1)

    def forward(self, x):
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        q, k, v = map(lambda t: rearrange(t, "b n (h d) -> b h d n", h=self.heads), (q, k, v))
        q, k = map(normalised, (q, k))
        sim = einsum("b h i n, b h j n -> b h i j", q, k) * self.temperature.exp()
        return einsum("b h i j, b h j n -> b h i n", self.attend(sim), v)


class WithMatmul(CrossCovariance):
    def forward(self, x):
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        q, k, v = (rearrange(t, "b n (h d) -> b h d n", h=self.heads) for t in (q, k, v))
        attn = ((q @ k.transpose(-2, -1)) * self.temperature.exp()).softmax(dim=-1)
        return attn @ v


class OfMaps(CrossCovariance):
    def forward(self, x):
        q, k, v = self.to_qkv(x).chunk(3, dim=1)
        q, k, v = (rearrange(t, "b (h d) x y -> b h d (x y)", h=self.heads) for t in (q, k, v))
        attn = ((q @ k.transpose(-2, -1)) * self.temperature.exp()).softmax(dim=-1)
        return attn @ v
