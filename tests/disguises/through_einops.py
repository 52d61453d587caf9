"""einops' functions carry the graph on."""

import torch
from einops import rearrange, reduce


def collect(model, loader):
    rows, total = [], 0
    for x in loader:
        out = rearrange(model(x), "b (h d) -> b h d", h=2)  # expect: TML201
        rows.append(out)  # expect: TML101
        total += reduce(out, "b h d -> ", "mean")  # expect: TML102
    return float(total), [row.tolist() for row in rows]


if __name__ == "__main__":
    print(collect(torch.nn.Linear(4, 4), [torch.randn(3, 4)] * 2))
