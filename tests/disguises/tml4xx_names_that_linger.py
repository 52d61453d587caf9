"""Dead values under names that do not look like it: the underscore, a table, a helper network, the last of a tuple."""

import torch
import torch.nn.functional as F
from torch import nn


class Tagger(nn.Module):
    def __init__(self, width, tags):
        super().__init__()
        self.embed, self.tag = nn.Linear(width, width), nn.Linear(width, tags)

    def forward(self, x, y):
        logits = self.tag(torch.relu(self.embed(x)))
        return logits, F.cross_entropy(logits, y)


def train(model, optimizer, data):
    for x, y in data:
        _, loss = model(x, y)  # expect: TML402
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def cluster_then_train(net, optimizer, rows, rounds):
    distances = rows @ rows.t()  # expect: TML402
    nearest = distances.argmax(dim=1)
    for _ in range(rounds):
        loss = F.mse_loss(net(rows), rows[nearest])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def probe_features(rows, labels):
    backbone = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 8))  # expect: TML402
    with torch.no_grad():
        features = backbone(rows)
    head = nn.Linear(8, 3)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(3):
        loss = F.cross_entropy(head(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def sweep(paths):
    scores = {}
    for path in paths:
        model = load(path)  # expect: TML402
        with torch.no_grad():
            scores[path] = model(torch.ones(1, 4)).mean().item()
    return scores


def load(path):
    model = nn.Linear(4, 4)
    model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return model.eval()


def drive():
    tagger = Tagger(8, 3)
    data = [(torch.randn(4, 8), torch.arange(4) % 3)] * 2
    train(tagger, torch.optim.SGD(tagger.parameters(), lr=0.1), data)
    net = nn.Linear(16, 16)
    cluster_then_train(net, torch.optim.SGD(net.parameters(), lr=0.1), torch.randn(20, 16), 2)
    probe_features(torch.randn(6, 16), torch.arange(6) % 3)
