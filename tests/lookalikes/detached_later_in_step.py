"""What is kept was cut from the graph first, by one of the many ways to do so."""

import torch
import torch.nn.functional as F
from torch import nn


def train(model, optimizer, loader):
    kept = {"loss": [], "norm": [], "mean": [], "data": [], "numpy": [], "list": []}
    best = None
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            mean = out.mean(0)
            norm = out.detach().norm()
        kept["norm"].append(norm.cpu())
        kept["mean"].append(out.detach().mean(0).cpu())
        kept["data"].append(loss.data.cpu())
        kept["numpy"].append(out.detach().cpu().numpy().mean())
        kept["list"].extend(out.argmax(1).tolist())
        loss = loss.detach()
        kept["loss"].append(loss)
        best = min(best, loss) if best is not None else loss
        del mean
    return {name: len(values) for name, values in kept.items()}, float(best)


def detached_in_place(model, optimizer, loader):
    losses = []
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.detach_()
        losses.append(loss)
    return torch.stack(losses).tolist()


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 2
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    print(train(net, sgd, data), detached_in_place(net, sgd, data))
