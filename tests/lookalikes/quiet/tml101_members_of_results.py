"""The loss of a result is backpropagated; what is kept are other members, or the loss after it was cut off."""

import torch
import torch.nn.functional as F
from torch import nn


class Criterion(nn.Module):
    def forward(self, model, sample):
        logits = model(sample["tokens"])
        loss = F.cross_entropy(logits, sample["target"])
        log = {"loss": loss.item(), "tokens": sample["count"]}
        return loss, log


class Trainer:
    def __init__(self, args, model, criterion: Criterion):
        self.model = model.to(args.device)
        self.criterion = criterion
        self.optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
        self.logs = []

    def step(self, samples):
        for sample in samples:
            loss, log = self.criterion(self.model, sample)
            loss.backward()
            self.logs.append(log)
        self.optimizer.step()
        self.optimizer.zero_grad()


def run(module, loader, optimizer):
    outputs = []
    for i, batch in enumerate(loader):
        output = module.training_step(batch, i)
        output["loss"].backward()
        optimizer.step()
        optimizer.zero_grad()
        output["loss"] = output["loss"].detach()
        outputs.append(output)
    return module.training_epoch_end(outputs)


class Collector:
    def __init__(self):
        self.values = {"loss": []}

    def __getitem__(self, key):
        return self.values[key]

    def __setitem__(self, key, value):
        self.values[key].append(value.item() if hasattr(value, "item") else value)


class Worker:
    def __init__(self, model: nn.Linear, optimizer, loader):
        self.model, self.optimizer, self.loader = model, optimizer, loader
        self.collector = Collector()

    def run(self):
        for x, y in self.loader:
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.collector["loss"] = loss
        print(sum(self.collector["loss"]))
