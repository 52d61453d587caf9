"""The stored expression hides the tensor: walrus, tuple, dict, conditional, starred, generator."""

import torch
import torch.nn.functional as F
from torch import nn


def train(model, optimizer, loader, verbose=True):
    scores, history, records, chosen, rows = [], [], [], [], []
    for step, (x, y) in enumerate(loader):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        probs = out.softmax(1)
        scores.append(top := probs.amax(1).mean())  # expect: TML101
        history.append((step, probs.var()))  # expect: TML101
        records.append({"step": step, "low": probs.amin()})  # expect: TML101
        chosen.append(probs.mean() if verbose else 0.0)  # expect: TML101
        rows.extend(p.norm() for p in probs)  # expect: TML101
        rows.extend([*probs[:2].unbind(1)])  # expect: TML101
        if step == 0:
            print(f"{top:.3f}")
    values = [float(s) for s in scores] + [float(v) for _, v in history] + [float(r["low"]) for r in records]
    return sum(values) + sum(float(c) for c in chosen) + sum(float(r.sum()) for r in rows)


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 3
    print(train(net, torch.optim.SGD(net.parameters(), lr=0.1), data))
