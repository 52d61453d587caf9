"""Attention over positions whose channels come first."""

import torch
from einops import rearrange
from torch import nn


class NonLocal(nn.Module):
    def __init__(self, channels=4):
        super().__init__()
        self.theta, self.phi, self.g = (nn.Conv2d(channels, channels, 1) for _ in range(3))

    def forward(self, x):
        b, c, h, w = x.shape
        theta = self.theta(x).view(b, c, -1).permute(0, 2, 1)
        phi = self.phi(x).view(b, c, -1)
        f = torch.matmul(theta, phi)  # expect: TML308
        weights = f.softmax(dim=-1)
        g = self.g(x).view(b, c, -1).permute(0, 2, 1)
        return torch.matmul(weights, g).permute(0, 2, 1).view(b, c, h, w) + x


class SingleHead(nn.Module):
    def __init__(self, channels=4):
        super().__init__()
        self.qkv, self.scale = nn.Conv1d(channels, 3 * channels, 1), channels**-0.5

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=1)
        weights = (q.transpose(-2, -1) @ k) * self.scale  # expect: TML308
        return v @ weights.softmax(dim=-1).transpose(-2, -1)


class Pixels(nn.Module):
    def __init__(self, channels=4):
        super().__init__()
        self.channels = channels
        self.qkv = nn.Conv2d(channels, 3 * channels, 1)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=1)
        q = rearrange(q, "b c h w -> b (h w) c")
        k, v = (rearrange(t, "b c h w -> b c (h w)") for t in (k, v))
        weights = torch.einsum("bij,bjk->bik", q, k) * self.channels**-0.5  # expect: TML308
        weights = rearrange(weights.softmax(dim=2), "b i j -> b j i")
        out = torch.einsum("bij,bjk->bik", v, weights)
        return rearrange(out, "b c (h w) -> b c h w", h=x.shape[2])


if __name__ == "__main__":
    print(NonLocal()(torch.randn(1, 4, 3, 3)).shape, SingleHead()(torch.randn(1, 4, 5)).shape)
