"""A framework backpropagates what `training_step` returns; what it puts aside for the end of the epoch is another matter."""

import types

import torch
import torch.nn.functional as F
from torch import nn

try:
    import lightning.pytorch as pl

except ImportError:
    pl = types.SimpleNamespace(LightningModule=nn.Module)


class Classifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3)
        self.train_outputs = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        loss = F.cross_entropy(logits, y)
        self.train_outputs.append(logits)  # expect: TML103
        return loss

    def on_train_epoch_end(self):
        labels = torch.cat(self.train_outputs).argmax(1)
        self.train_outputs.clear()
        return labels.tolist()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


if __name__ == "__main__":
    model = Classifier()
    for step in range(2):
        model.training_step((torch.randn(5, 4), torch.arange(5) % 3), step).backward()
    print(model.on_train_epoch_end())
