"""The value comes from a helper that returns it attached."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


def confidence(logits):
    probs = logits.softmax(1)
    return probs.amax(1).mean()


def summary(logits):
    return {"low": logits.softmax(1).amin(), "shape": tuple(logits.shape)}


@dataclass
class Record:
    step: int
    value: torch.Tensor


class Learner:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(self, x, y):
        out = self.model(x)
        loss = F.cross_entropy(out, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item(), confidence(out)

    def fit(self, loader):
        total, kept = 0.0, []
        for x, y in loader:
            loss, sure = self.step(x, y)
            kept.append(sure)  # expect: TML101
            total += loss
        return total, [float(k) for k in kept]


def train(model, optimizer, loader):
    scores, notes, records = [], [], []
    for step, (x, y) in enumerate(loader):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scores.append(confidence(out))  # expect: TML101
        notes.append(summary(out))  # expect: TML101
        records.append(Record(step, confidence(out)))  # expect: TML101
    return sum(map(float, scores)), [float(n["low"]) for n in notes], [float(r.value) for r in records]


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [(torch.randn(5, 4), torch.arange(5) % 3)] * 3
    learner = Learner(net)
    print(learner.fit(data), train(net, learner.optimizer, data))
