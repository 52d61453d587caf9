import torch
from torch import nn

from horovod_trainer import HorovodTrainer


class ModelWrapper(nn.Module):
    def __init__(self, net: nn.Module, loader, lr: float = 2e-4):
        super().__init__()
        self.net = net
        self._loader = loader
        self.lr = lr

    def train_dataloader(self):
        return self._loader

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.net.parameters(), lr=self.lr, fused=True)
        return optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 30)

    def forward(self, batch):
        disp = self.net(batch["rgb"])
        return {"inv_depth": disp, "loss": (disp - batch["depth"].clamp(min=1e-3).reciprocal()).abs().mean()}

    def training_step(self, batch, *args):
        output = self(batch)
        return {"loss": output["loss"], "metrics": {}}

    def training_epoch_end(self, output_batch):
        return {"avg_train-loss": torch.stack([o["loss"] for o in output_batch]).mean().item()}


def main(net, loader):
    HorovodTrainer(max_epochs=30).fit(ModelWrapper(net, loader))
