"""`self.model(...)` inside a trainer is a forward like any other."""

import torch
import torch.nn.functional as F
from torch import nn


class Trainer:
    def __init__(self, model, lr=0.1):
        self.model = model
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)

    def train_epoch(self, loader):
        self.model.train()
        confidences = []
        for x, y in loader:
            logits = self.model(x)
            loss = F.cross_entropy(logits, y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            confidences.append(logits.softmax(1).amax(1).mean())  # expect: TML101
        return float(sum(confidences)) / len(confidences)

    def evaluate(self, loader):
        self.model.eval()
        losses = []
        for x, y in loader:
            logits = self.model(x)  # expect: TML201
            losses.append(F.cross_entropy(logits, y))  # expect: TML101
        return torch.stack(losses).mean().item()

    def score(self, loader):
        self.model.eval()
        total = 0.0
        for x, y in loader:
            total += F.cross_entropy(self.model(x), y)  # expect: TML102, TML201
        return total.item()


if __name__ == "__main__":
    data = [(torch.randn(5, 4), torch.arange(5) % 3)] * 2
    trainer = Trainer(nn.Linear(4, 3))
    print(trainer.train_epoch(data), trainer.evaluate(data), trainer.score(data))
