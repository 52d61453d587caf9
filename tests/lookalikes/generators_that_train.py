"""A generator of losses that is made under no_grad and read by a training loop is meant to run with grad on."""

import torch
from torch import nn


def losses(model: nn.Module, loader):
    for x, y in loader:
        yield nn.functional.mse_loss(model(x), y)


def train(model: nn.Module, loader, opt):
    with torch.no_grad():
        print(sum(p.norm().item() for p in model.parameters()))
        stream = losses(model, loader)
    for loss in stream:
        opt.zero_grad()
        loss.backward()
        opt.step()


def made(model: nn.Module, loader):
    with torch.no_grad():
        print(sum(p.norm().item() for p in model.parameters()))
        return losses(model, loader)


def train_on_made(model: nn.Module, loader, opt):
    for loss in made(model, loader):
        opt.zero_grad()
        loss.backward()
        opt.step()
