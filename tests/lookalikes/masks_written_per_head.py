"""Repeated masks that are written afterwards, and repeated operands that attention does not broadcast for us."""

import torch
import torch.nn.functional as F


def windowed(keep, heads):
    mask = keep[:, None, None, :].repeat(1, heads, keep.size(1), 1)
    for head in range(heads):
        mask[:, head] &= torch.ones_like(mask[0, 0]).triu(-head).tril(head)
    return mask


def per_head(keep, heads):
    return keep[:, None, None, :].repeat(1, heads, 1, 1)


def local(q, k, v, keep):
    mask = per_head(keep, q.size(1))
    mask[:, 0] = True
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def shared_query(query, k, v):
    q = query[None, :, None].repeat(k.size(0), 1, k.size(2), 1)
    return F.scaled_dot_product_attention(q, k, v)


if __name__ == "__main__":
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 2, 4, 5, 8)
    keep = torch.ones(2, 5, dtype=torch.bool)
    print(F.scaled_dot_product_attention(q, k, v, windowed(keep, 4)).shape, local(q, k, v, keep).shape)
    print(shared_query(torch.randn(4, 8), k, v).shape)
