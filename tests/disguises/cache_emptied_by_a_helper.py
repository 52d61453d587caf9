"""The cache is emptied in every step by a helper, or beside a model that is an attribute."""

import gc

import torch
from torch import nn


def free_memory():
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def _cleanup(self):
        torch.cuda.empty_cache()

    def fit(self, loader):
        for x in loader:
            self.optimizer.zero_grad()
            self.model(x).mean().backward()
            self.optimizer.step()
            self._cleanup()  # expect: TML404

    def predict(self, loader):
        found = []
        with torch.no_grad():
            for x in loader:
                found.append(self.model(x).argmax(-1).cpu())
                torch.cuda.empty_cache()  # expect: TML404
        return torch.cat(found)


def train(model, loader, optimizer):
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
        free_memory()  # expect: TML404


if __name__ == "__main__":
    net, data = nn.Linear(4, 3), [torch.randn(2, 4)] * 3
    trainer = Trainer(net)
    trainer.fit(data)
    train(net, data, trainer.optimizer)
    print(trainer.predict(data).shape)
