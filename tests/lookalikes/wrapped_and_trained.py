"""A wrapper around a network whose parts the optimizer holds; draws whose only column is kept."""

import torch
from torch import nn
from torchvision import models


def train(loader, rank):
    model = models.segmentation.deeplabv3_resnet50().to(rank)
    model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    distributed = nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    optimizer = torch.optim.Adam(
        [{"params": model.backbone.parameters(), "lr": 5e-5}, {"params": model.classifier.parameters(), "lr": 1e-4}]
    )
    for x, y in loader:
        loss = nn.functional.cross_entropy(distributed(x.to(rank))["out"], y.to(rank))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


class Controller(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell = nn.LSTMCell(width, width)

    def sample(self, inputs, hidden, blocks):
        chosen = []
        for _ in range(blocks):
            hidden = self.cell(inputs, hidden)
            action = hidden[0].softmax(-1).multinomial(num_samples=1).data
            chosen.append(action[:, 0])
        return torch.stack(chosen).transpose(0, 1)
