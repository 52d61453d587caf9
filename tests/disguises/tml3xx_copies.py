"""Needless copies behind names, helpers and branches."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn


def to_float(x):
    y = x.clone()  # expect: TML303
    z = y
    return torch.exp(z) + y


def pick(rows, index):
    return rows.gather(-1, index).squeeze(-1) - torch.stack([row.logsumexp(-1) for row in rows])


@torch.no_grad()
def score(logits, ids):
    kept = logits[:, :-1, :].contiguous()  # expect: TML302
    return pick(kept, ids[:, 1:].unsqueeze(-1))


class Attention(nn.Module):
    def __init__(self, width=8, heads=2):
        super().__init__()
        self.heads, self.qkv = heads, nn.Linear(width, 3 * width)
        self.soft, self.drop = nn.Softmax(dim=-1), nn.Dropout(0.1)

    def forward(self, x, mask=None):
        b, t, c = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in (q, k, v))
        scores = q @ k.transpose(-2, -1)  # expect: TML308
        scores = scores / math.sqrt(c // self.heads)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = self.drop(self.soft(scores))
        out = weights @ v
        return out.transpose(1, 2).reshape(b, t, c)


def shared(k, n):
    return torch.repeat_interleave(k, n, dim=1)  # expect: TML306


def grouped(q, k, v):
    return F.scaled_dot_product_attention(q, shared(k, 2), shared(v, 2))


def distances(a, b):
    left, right = a.unsqueeze(-2), b.unsqueeze(-3)
    gap = left - right  # expect: TML309
    return gap.square().sum(-1).sqrt()


def collect(model: nn.Module, loader):
    seen = None
    with torch.no_grad():
        for x in loader:
            out = model(x)
            if seen is None:
                seen = out
            else:
                seen = torch.cat((seen, out))  # expect: TML307
    return seen


def reload(model: nn.Module, kept):
    state = copy.deepcopy(kept)  # expect: TML318
    model.load_state_dict(state)


def masked_table(table: nn.Embedding, words, keep):
    weight = keep * table.weight
    weight = weight / 0.9  # expect: TML310
    return F.embedding(words, weight)


if __name__ == "__main__":
    x, net = torch.randn(2, 4, 8), nn.Linear(2, 2)
    print(to_float(x).shape, score(x, torch.zeros(2, 4, dtype=torch.long)).shape, Attention()(x).shape)
    print(grouped(torch.ones(1, 4, 3, 2), torch.ones(1, 2, 3, 2), torch.ones(1, 2, 3, 2)).shape)
    print(distances(torch.ones(3, 2), torch.ones(4, 2)).shape, collect(net, [torch.ones(1, 2)] * 2).shape)
    reload(net, net.state_dict())
    print(masked_table(nn.Embedding(3, 2), torch.tensor([1]), torch.ones(3, 1)).shape)
