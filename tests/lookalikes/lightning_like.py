"""Lightning runs validation, test and predict steps with gradients off, and backpropagates what a training step returns."""

import torch
import torch.nn.functional as F
from torch import nn

try:
    import lightning.pytorch as pl
    from lightning.pytorch import LightningModule
except ImportError:
    pl = None
    LightningModule = nn.Module


class Classifier(LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.val_losses = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        losses = []
        for part, label in zip(x.chunk(2), y.chunk(2)):
            losses.append(F.cross_entropy(self(part), label))
        return torch.stack(losses).mean()

    def validation_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.val_losses.append(loss)
        return loss

    def on_validation_epoch_end(self):
        mean = torch.stack(self.val_losses).mean()
        self.val_losses.clear()
        return mean

    def predict_step(self, batch, batch_idx):
        return self(batch).argmax(-1).cpu()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    model = Classifier()
    sample = torch.randn(4, 4), torch.tensor([0, 1, 2, 0])
    model.training_step(sample, 0).backward()
    with torch.no_grad():
        model.validation_step(sample, 0)
        print(model.on_validation_epoch_end(), model.predict_step(sample[0], 0), pl is None)
