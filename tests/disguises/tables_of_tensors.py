"""Tables written by hand: a tensor is looked up before it is made, and nothing is ever taken out."""

import torch
from torch import nn

STEPS = {}


def steps(n, device):
    if n not in STEPS:
        STEPS[n] = torch.arange(n, device=device)  # expect: TML405
    return STEPS[n]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(4, 4)
        self.cache, self.tables = {}, {}

    def forward(self, x, context):
        place = id(context)
        if place not in self.cache:
            self.cache[place] = (self.key(context).detach(), context.dtype)  # expect: TML405
        keys, _ = self.cache[place]
        return x @ keys.t() + self.table(len(x), len(keys), x.device)

    def table(self, rows, columns, device):
        found = self.tables.get((rows, columns))
        if found is None:
            found = torch.zeros(rows, columns, device=device)
            self.tables[(rows, columns)] = found  # expect: TML405
        return found


if __name__ == "__main__":
    net = Attention()
    print(net(torch.randn(2, 4), torch.randn(3, 4)).shape, steps(3, "cpu"))
