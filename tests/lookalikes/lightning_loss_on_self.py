"""The framework backpropagates the returned loss: what the step leaves of it on self is one element."""

try:
    import lightning.pytorch as pl
except ImportError:
    import types

    from torch import nn as _nn

    pl = types.SimpleNamespace(LightningModule=_nn.Module)
import torch
import torch.nn.functional as F
from torch import nn


class Learner(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3)
        self.last_loss = None

    def step(self, batch):
        x, y = batch
        return F.cross_entropy(self.net(x), y)

    def training_step(self, batch, batch_idx):
        loss = self.step(batch)
        self.last_loss = loss
        return {"loss": loss}


class Adversarial(pl.LightningModule):
    """Manual optimisation: the images are made once and serve both losses."""

    def __init__(self):
        super().__init__()
        self.generator, self.discriminator = nn.Linear(4, 8), nn.Linear(8, 1)
        self.images = None

    def forward(self, z):
        return self.generator(z)

    def adversarial_loss(self, score, label):
        return F.binary_cross_entropy_with_logits(score, label)

    def training_step(self, batch, batch_idx):
        first, second = self.optimizers()
        self.images = self(torch.randn(batch.shape[0], 4))
        valid = torch.ones(batch.shape[0], 1)
        g_loss = self.adversarial_loss(self.discriminator(self.images), valid)
        self.manual_backward(g_loss)
        first.step()
        first.zero_grad()
        d_loss = self.adversarial_loss(self.discriminator(self.images.detach()), 1 - valid)
        self.manual_backward(d_loss)
        second.step()
        second.zero_grad()


if __name__ == "__main__":
    learner = Learner()
    learner.training_step((torch.randn(5, 4), torch.arange(5) % 3), 0)["loss"].backward()
    print(learner.last_loss.item())
