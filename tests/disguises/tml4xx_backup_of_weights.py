"""A backup of all weights that is put back and stays bound while the next epoch trains."""

import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(8, 3)
optimizer = torch.optim.ASGD(net.parameters(), lr=0.1)
data = [(torch.randn(4, 8), torch.arange(4) % 3) for _ in range(2)]


def train():
    net.train()
    for x, y in data:
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def evaluate():
    net.eval()
    return sum(F.cross_entropy(net(x), y).item() for x, y in data)


def main():
    for _ in range(2):
        train()
        backup = {}  # expect: TML402
        for p in net.parameters():
            backup[p] = p.data.clone()
            p.data = optimizer.state[p]["ax"].clone()
        score = evaluate()
        for p in net.parameters():
            p.data = backup[p].clone()  # allow: TML303
    return score


if __name__ == "__main__":
    print(main())
