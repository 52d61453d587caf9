"""The list is an entry of something."""

from collections import defaultdict

import torch
import torch.nn.functional as F
from torch import nn


def train(model, optimizer, loader):
    metrics = {"loss": [], "confidence": []}
    by_class = defaultdict(list)
    table = [[] for _ in range(3)]
    found = {}
    for step, (x, y) in enumerate(loader):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        probs = out.softmax(1)
        metrics["loss"].append(loss.item())
        metrics["confidence"].append(probs.amax(1).mean())  # expect: TML101
        by_class[int(y[0])].append(probs[:, 0].mean())  # expect: TML101
        table[step % 3].append(probs.var())  # expect: TML101
        found.setdefault("entropy", []).append(-(probs * probs.log()).sum(1).mean())  # expect: TML101
    report = {name: float(sum(values)) / len(values) for name, values in metrics.items()}
    report["classes"] = {label: float(sum(values)) for label, values in by_class.items()}
    report["rows"] = [float(sum(row)) for row in table]
    report["entropy"] = [value.item() for value in found["entropy"]]
    return report


if __name__ == "__main__":
    net = nn.Linear(4, 3)
    data = [(torch.randn(5, 4), torch.arange(5) % 3)] * 3
    print(train(net, torch.optim.SGD(net.parameters(), lr=0.1), data))
