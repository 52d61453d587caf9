"""No helpful names, no `eval()` in sight of the forward; results end as numbers."""

import torch
import torch.nn.functional as F
from torch import nn


class Thing(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 8)
        self.b = nn.Linear(8, 3)

    def forward(self, q):
        return self.b(self.a(q).tanh())


def figures(thing, pile):
    thing.train(False)
    right, wrong = 0, 0.0
    for q, r in pile:
        s = thing(q)  # expect: TML201
        right += int((s.argmax(1) == r).sum())
        wrong += float(F.cross_entropy(s, r))
    return right, wrong


def work(pile, rounds=2):
    thing = Thing()
    o = torch.optim.SGD(thing.parameters(), lr=0.1)
    for _ in range(rounds):
        thing.train()
        for q, r in pile:
            z = F.cross_entropy(thing(q), r)
            o.zero_grad()
            z.backward()
            o.step()
        print(figures(thing, pile))


if __name__ == "__main__":
    work([(torch.randn(6, 4), torch.arange(6) % 3)] * 2)
