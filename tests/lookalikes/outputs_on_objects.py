"""Outputs of a whole loader on an object that are moved to the host or made small there, or computed with on the
device; a framework is left with losses and labels, or keeps nothing."""

import types

import torch
import torch.nn.functional as F
from torch import nn

try:
    import pytorch_lightning as pl

except ImportError:
    pl = types.SimpleNamespace(LightningModule=nn.Module)


class HostMeter:
    def __init__(self):
        self.scores, self.labels = [], []

    def update(self, scores):
        self.scores.append(scores.cpu())
        self.labels.append(scores.argmax(1))

    def summary(self):
        return torch.cat(self.scores).numpy().mean(), torch.cat(self.labels).cpu().numpy()


class Gallery:
    def __init__(self):
        self.rows = []

    def add(self, rows):
        self.rows.append(rows)

    def nearest(self, query):
        return (query @ torch.cat(self.rows).t()).argmax(1)


@torch.no_grad()
def evaluate(net: nn.Linear, loader, meter: HostMeter, gallery: Gallery, device="cuda"):
    for x in loader:
        meter.update(net(x.to(device)))
        gallery.add(net(x.to(device)))
    return meter.summary(), gallery.nearest(net(x.to(device)))


class Frugal(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3)
        self.losses, self.labels, self.scores = [], [], []

    def training_step(self, batch, batch_idx):
        x, y = batch
        scores = self.net(x)
        return {"loss": F.cross_entropy(scores, y), "labels": scores.argmax(1), "kept": scores.detach().cpu()}

    def training_epoch_end(self, outputs):
        pass

    def validation_step(self, batch, batch_idx):
        x, y = batch
        scores = self.net(x)
        self.losses.append(F.cross_entropy(scores, y))
        self.labels.append(scores.argmax(1))
        self.scores.append(scores.cpu())
        return {"scores": scores}

    def on_validation_epoch_end(self):
        print(torch.stack(self.losses).mean().item(), torch.cat(self.labels).cpu().numpy())
        print(torch.cat(self.scores).numpy().mean())

    def test_step(self, batch, batch_idx):
        return {"scores": self.net(batch[0])}


if __name__ == "__main__":
    batches = [torch.randn(2, 4)] * 2
    print(evaluate(nn.Linear(4, 3), batches, HostMeter(), Gallery(), "cpu"))
    frugal = Frugal()
    with torch.no_grad():
        for x in batches:
            frugal.validation_step((x, torch.tensor([0, 1])), 0)
    frugal.on_validation_epoch_end()
