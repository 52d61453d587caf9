"""The output of each step goes into a record beside the loss; records lie in a dict of lists, or on a namespace; the
networks come in a list whose annotation alone says what it holds."""

from collections import defaultdict
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn


def fit(net, loader, optimizer):
    history = defaultdict(list)
    for x, y in loader:
        scores = net(x)
        loss = F.cross_entropy(scores, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history["train"].append({"loss": loss, "scores": scores})  # expect: TML101
    return [float(record["loss"]) for record in history["train"]]


def validate(net: nn.Module, loader):
    state = SimpleNamespace(seen=0, losses=[])
    for x, y in loader:
        state.seen += len(x)
        state.losses.append(F.cross_entropy(net(x), y))  # expect: TML101, TML201
    return state.seen, [float(loss) for loss in state.losses]


def vote(nets: list[nn.Linear], loader):
    found = []
    for x, _ in loader:
        for net in nets:
            found.append(net(x).argmax(1).tolist())  # expect: TML201
    return found


class Reconstruction:
    def __init__(self):
        self.net = nn.Linear(4, 4)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def step(self, x):
        out = self.net(x)
        loss = F.mse_loss(out, x)
        return {"loss": loss, "error": loss.detach(), "sample": out}


def epoch_of(task: Reconstruction, batches):
    results = []
    for x in batches:
        result = task.step(x)
        task.optimizer.zero_grad()
        result["loss"].backward()
        task.optimizer.step()
        results.append(result)  # expect: TML101
    return sum(float(r["loss"]) for r in results)


if __name__ == "__main__":
    linear = nn.Linear(4, 3)
    data = [(torch.randn(2, 4), torch.tensor([0, 1]))] * 2
    print(fit(linear, data, torch.optim.SGD(linear.parameters(), lr=0.1)), validate(linear, data), vote([linear], data))
    print(epoch_of(Reconstruction(), [torch.randn(3, 4)] * 2))
