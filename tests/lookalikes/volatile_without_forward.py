"""`volatile=True` for what is only looked at, or goes forward under `no_grad`."""

import torch
from factory import create_model
from torch.autograd import Variable


def shown(dataset, window):
    for data in dataset:
        image = Variable(data["image"].cuda(), volatile=True)
        window.forward_to(image.cpu().numpy())


@torch.no_grad()
def encode(options, dataset):
    model = create_model(options)
    for data in dataset:
        image = Variable(data["image"].cuda(), volatile=True)
        print(model.module.encoder.forward(image).sum().item())
