"""Attention whose heads are mixed before or after the softmax: no fused operator does that."""

import torch
from torch import nn


class TalkingHeads(nn.Module):
    def __init__(self, heads=2, before=True):
        super().__init__()
        self.mix = nn.Parameter(torch.eye(heads))
        self.attend = nn.Softmax(dim=-1)
        self.before = before

    def forward(self, q, k, v):
        if self.before:
            dots = torch.einsum("b h i d, b h j d -> b h i j", q, k)
            dots = torch.einsum("b h i j, h g -> b g i j", dots, self.mix)
            return torch.einsum("b h i j, b h j d -> b h i d", self.attend(dots), v)
        dots = torch.einsum("b h i d, b h j d -> b h i j", q, k)
        attn = torch.einsum("b h i j, h g -> b g i j", self.attend(dots), self.mix)
        return torch.einsum("b h i j, b h j d -> b h i d", attn, v)


class Reattention(nn.Module):
    def __init__(self, heads=2):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(heads, heads))

    def forward(self, q, k, v):
        attn = torch.einsum("b h i d, b h j d -> b h i j", q, k).softmax(dim=-1)
        attn = torch.einsum("b h i j, h g -> b g i j", attn, self.weights)
        return torch.einsum("b h i j, b h j d -> b h i d", attn, v)


if __name__ == "__main__":
    given = [torch.randn(1, 2, 3, 4) for _ in range(3)]
    print(TalkingHeads()(*given).shape, TalkingHeads(before=False)(*given).shape, Reattention()(*given).shape)
