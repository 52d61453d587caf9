"""A generator runs in the grad mode of the one who reads it, not of the block or function that made it."""

import torch
from torch import nn


def predictions(model: nn.Module, batches):
    with torch.no_grad():
        found = (model(x) for x in batches)  # expect: TML202
    return found


@torch.no_grad()
def embedded(model: nn.Module, batches):
    return (nn.functional.normalize(model(x), dim=-1) for x in batches)  # expect: TML202


def stream(model, batches):
    for x in batches:
        yield model(x)


class Scorer:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).eval()

    def logits(self, x):
        return self.net(x)

    def confidence(self, batches):
        with torch.inference_mode():
            logits = (self.logits(x) for x in batches if len(x))  # expect: TML202
        return [row.softmax(-1).amax().item() for row in logits]

    def labels(self, batches):
        with torch.no_grad():
            rows = stream(self.net, batches)  # expect: TML202
        found = []
        for row in rows:
            found.extend(row.argmax(-1).tolist())
        return found


def main():
    net, data, scorer = nn.Linear(4, 2), [torch.randn(3, 4) for _ in range(4)], Scorer()
    total = 0.0
    for out in predictions(net, data):
        total += out.sum().item()
    for out in embedded(net, data):
        total += out.sum().item()
    print(total, scorer.confidence(data), scorer.labels(data))


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
