"""A mask written once for each head, though attention broadcasts it; also by a helper that returns it."""

import torch
import torch.nn.functional as F


def attended(q, k, v, keep):
    mask = keep[:, None, None, :].repeat(1, q.size(1), 1, 1)  # expect: TML306
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def for_heads(keep, heads):
    return keep[:, None, None, :].repeat(1, heads, 1, 1)  # expect: TML306


class Attention:
    def __init__(self, heads):
        self.heads = heads

    def __call__(self, q, k, v, keep):
        return F.scaled_dot_product_attention(q, k, v, for_heads(keep, self.heads))


if __name__ == "__main__":
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 2, 4, 5, 8)
    keep = torch.ones(2, 5, dtype=torch.bool)
    print(torch.equal(attended(q, k, v, keep), Attention(4)(q, k, v, keep)))
