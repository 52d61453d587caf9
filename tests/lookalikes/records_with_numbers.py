"""Records and namespaces that take in numbers and what has no graph; weights without a graph run a module for nothing
that a backward could use."""

from collections import defaultdict
from dataclasses import dataclass
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call


def fit(net, loader, optimizer):
    history = defaultdict(list)
    for x, y in loader:
        scores = net(x)
        loss = F.cross_entropy(scores, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history["train"].append({"loss": loss.item(), "labels": scores.argmax(1)})
    return [record["loss"] for record in history["train"]]


def fit_together(net: nn.Module, loader, optimizer):
    state = SimpleNamespace(seen=0, losses=[])
    for x, y in loader:
        state.seen += len(x)
        state.losses.append(F.cross_entropy(net(x), y))
    optimizer.zero_grad()
    torch.stack(state.losses).mean().backward()
    optimizer.step()
    return state.seen


@dataclass
class Walk:
    steps: int
    log_prob: torch.Tensor


def balance(net: nn.Module, walks: list[Walk]) -> torch.Tensor:
    return torch.stack([(net.bias.sum() + walk.log_prob) ** 2 for walk in walks]).mean()


def fit_walks(net: nn.Module, loader, optimizer):
    for x, _ in loader:
        walks = []
        for step in range(3):
            walks.append(Walk(step, net(x).log_softmax(-1).sum()))
        loss = balance(net, walks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def adapted(net: nn.Module, x, y, tasks):
    loss = F.cross_entropy(net(x), y)
    grads = torch.autograd.grad(loss, list(net.parameters()))
    fast = {n: (w - 0.1 * g).detach() for (n, w), g in zip(net.named_parameters(), grads)}
    return [functional_call(net, fast, (task,)).argmax(1).tolist() for task in tasks]


def vote(nets: list[nn.Linear], loader):
    with torch.no_grad():
        return [[net(x).argmax(1).tolist() for net in nets] for x, _ in loader]


if __name__ == "__main__":
    linear = nn.Linear(4, 3)
    data = [(torch.randn(2, 4), torch.tensor([0, 1]))] * 2
    sgd = torch.optim.SGD(linear.parameters(), lr=0.1)
    print(fit(linear, data, sgd), fit_together(linear, data, sgd), vote([linear], data))
    print(fit_walks(linear, data, sgd))
    print(adapted(linear, *data[0], [torch.randn(2, 4)]))
