"""Outputs and features of training steps: backward frees the graph, their own bytes stay."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        h = torch.relu(self.body(x))
        return self.head(h), h


def epoch(model, optimizer, loader):
    outputs, features, both = [], {}, []
    for i, (x, y) in enumerate(loader):
        logits, h = model(x)
        outputs.append(logits)  # expect: TML101
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        features[i] = h  # expect: TML101
        both.append((logits, y))  # expect: TML101
    predicted = torch.cat(outputs).argmax(1)
    spread = torch.cat(list(features.values())).std().item()
    hits = sum(int((logits.argmax(1) == y).sum()) for logits, y in both)
    return predicted.tolist(), spread, hits


if __name__ == "__main__":
    net = Net()
    print(epoch(net, torch.optim.SGD(net.parameters(), lr=0.1), [(torch.randn(6, 4), torch.arange(6) % 3)] * 3))
