"""A small view that is stored as a member of a tuple or dict keeps the whole storage all the same."""

import torch
from torch import nn


@torch.no_grad()
def named(model: nn.Module, loader):
    found = []
    for name, x in loader:
        out = model(x)
        found.append((name, out[:, 0]))  # expect: TML403
    return found


class Extractor:
    def __init__(self, model: nn.Module):
        self.model = model.eval()
        self.records = []

    @torch.inference_mode()
    def add(self, name, x):
        tokens = self.model(x)
        score = tokens.mean().item()
        self.records.append({"name": name, "token": tokens[:, 0], "score": score})  # expect: TML403


if __name__ == "__main__":
    net, data = nn.Linear(4, 4), [("a", torch.randn(2, 5, 4)), ("b", torch.randn(2, 5, 4))]
    extractor = Extractor(net)
    for key, batch in data:
        extractor.add(key, batch)
    print(len(named(net, data)), len(extractor.records))
