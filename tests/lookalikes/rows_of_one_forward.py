"""Rows of one result in a list, numbers and labels of steps, losses that are detached, outputs moved to the host."""

import torch
import torch.nn.functional as F
from torch import nn


def spread(model, x, device):
    with torch.no_grad():
        rows = [row.sum() for row in model(x.to(device))]
    again = [row.std() for row in model(x.to(device)).data]
    return float(sum(rows)) + float(sum(again))


def shared_step(model, x, y):
    logits = model(x)
    return {"loss": F.cross_entropy(logits, y), "probabilities": logits.detach().softmax(1).cpu(), "label": y.cpu()}


def training_step(model, optimizer, x, y):
    results = shared_step(model, x, y)
    optimizer.zero_grad()
    results["loss"].backward()
    optimizer.step()
    results["loss"] = results["loss"].item()
    return results


def epoch(model, optimizer, loader, device):
    outputs, losses, labels = [], [], []
    for x, y in loader:
        outputs.append(training_step(model, optimizer, x.to(device), y.to(device)))
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        labels.append(y.to(device))
    hits = torch.cat([o["probabilities"].argmax(1) == o["label"] for o in outputs])
    return torch.stack(losses).mean().item(), hits.float().mean().item(), torch.cat(labels).cpu().tolist()


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 3
    print(spread(net, torch.randn(2, 4), "cpu"), epoch(net, torch.optim.SGD(net.parameters(), lr=0.1), data, "cpu"))
