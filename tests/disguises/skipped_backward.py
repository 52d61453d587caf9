"""On some steps the loss that is kept never reaches its backward."""

import torch
import torch.nn.functional as F
from torch import nn


def warm_up(model, optimizer, loader, start=2):
    losses = []
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        losses.append(loss)  # expect: TML101
        if step < start:
            continue
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [float(loss) for loss in losses]


def guarded(model, optimizer, loader):
    total = 0.0
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        total += loss  # expect: TML102
        if not torch.isfinite(loss) or loss > 100:
            print("skipped")
            continue
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float(total)


def joined_later(model: nn.Module, optimizer, loader, start=100):
    terms = []
    for step, (x, y) in enumerate(loader):
        out = model(x)
        loss = F.cross_entropy(out, y)
        agreement = F.kl_div(model(x + 0.1).log_softmax(1), out.detach().softmax(1), reduction="batchmean")
        if step >= start:
            loss = loss + 0.5 * agreement
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        terms += [agreement]  # expect: TML101
    return float(sum(terms))


def hardest(model, optimizer, loader):
    kept = []
    for x, y in loader:
        easy, hard = F.cross_entropy(model(x), y, reduction="none").sort().values.chunk(2)
        optimizer.zero_grad()
        hard.mean().backward()
        optimizer.step()
        kept.append(easy.exp().mean())  # expect: TML101
    return sum(map(float, kept))


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(6, 4), torch.arange(6) % 3)] * 4
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    print(warm_up(net, sgd, data), guarded(net, sgd, data), hardest(net, sgd, data), joined_later(net, sgd, data))
