"""Positions counted up: expanded and written out, they are a few bytes."""

import torch


def rotary_positions(lengths, start, x):
    positions = []
    for length in lengths:
        positions.append(torch.arange(length, device=x.device).view(1, -1).expand(3, -1) + 4)
        start += length
    return torch.cat(positions, dim=1)


def position_ids(first, last, shape, offset):
    ids = torch.arange(first, last, dtype=torch.long).unsqueeze(0).expand(shape).contiguous()
    return ids + 2, offset
