"""Outputs of a whole loader on an object: a meter takes them in, a framework calls the method once a batch, or keeps
what it returns; another method joins them and needs them on the host."""

import types

import torch
import torch.nn.functional as F
from torch import nn

try:
    import pytorch_lightning as pl

except ImportError:
    pl = types.SimpleNamespace(LightningModule=nn.Module)


class Meter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.all_scores = []
        self.hits = 0

    def update(self, scores, hits):
        self.all_scores.append(scores)
        self.hits += hits

    def summary(self):
        scores = torch.cat(self.all_scores).cpu().numpy()
        return scores.mean(), self.hits


@torch.no_grad()
def evaluate(net: nn.Linear, loader, meter: Meter, device="cuda"):
    net.eval()
    for step, (x, y) in enumerate(loader):
        scores = net(x.to(device))
        meter.update(scores, (scores.argmax(1).cpu() == y).sum().item())  # expect: TML401
    found = meter.summary()
    meter.reset()
    return found


class Appending(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3)
        self.outputs = []

    def validation_step(self, batch, batch_idx):
        x, y = batch
        scores = self.net(x)
        self.outputs.append(scores)  # expect: TML401
        return F.cross_entropy(scores, y)

    def on_validation_epoch_end(self):
        scores = torch.cat(self.outputs).cpu().numpy()
        self.outputs.clear()
        return scores.mean()


class Returning(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3)

    def step(self, batch):
        x, y = batch
        scores = self.net(x)
        return F.cross_entropy(scores, y), torch.softmax(scores, dim=1), y

    def training_step(self, batch, batch_idx):
        loss, scores, labels = self.step(batch)
        return {"loss": loss, "scores": scores, "labels": labels}  # expect: TML401

    def training_epoch_end(self, outputs):
        print(torch.stack([o["loss"] for o in outputs]).mean().item())

    def validation_step(self, batch, batch_idx):
        loss, scores, labels = self.step(batch)
        return {"loss": loss, "scores": scores, "labels": labels}  # expect: TML401

    def validation_epoch_end(self, outputs):
        pass


if __name__ == "__main__":
    data = [(torch.randn(2, 4), torch.tensor([0, 1]))] * 2
    print(evaluate(nn.Linear(4, 3), data, Meter(), "cpu"))
    appending, returning = Appending(), Returning()
    with torch.no_grad():
        for batch in data:
            appending.validation_step(batch, 0)
    print(appending.on_validation_epoch_end())
    returning.training_epoch_end([returning.training_step(batch, 0) for batch in data])
