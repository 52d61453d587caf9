"""Functions in a list that keep no graph, or one that a later backward walks."""

import functools

import torch
import torch.nn.functional as F
from torch import nn


def summarise(model, optimizer, batches):
    reports, levels = [], []
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        reports.append(lambda value=loss.item(): f"{value:.3f}")
        levels.append(functools.partial(round, loss.item(), 2))
    return [report() for report in reports], [level() for level in levels]


def postponed(model, optimizer, batches):
    todo = []
    for x, y in batches:
        todo.append(lambda loss=F.cross_entropy(model(x), y): loss.backward())
    for run in todo:
        run()
    optimizer.step()
    return len(todo)


def postponed_partials(model, optimizer, batches):
    terms = []
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        terms.append(functools.partial(torch.mul, loss))
    total = sum(term(0.5) for term in terms)
    total.backward()
    optimizer.step()
    return total.item()


def schedules(steps):
    return [lambda step, first=step: min(1.0, step / max(1, first)) for step in range(steps)]


if __name__ == "__main__":
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    data = [(torch.randn(3, 4), torch.zeros(3, dtype=torch.long)) for _ in range(3)]
    print(
        len(summarise(net, sgd, data)), postponed(net, sgd, data), postponed_partials(net, sgd, data), len(schedules(3))
    )
