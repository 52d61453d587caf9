"""The cache is emptied behind an epoch, a fold or an image that took many steps."""

import gc
import torch
from torch import nn


def clean():
    gc.collect()
    torch.cuda.empty_cache()


class Trainer:
    def __init__(self, model: nn.Module, opt):
        self.model, self.opt = model, opt

    def epoch(self, loader):
        for x, y in loader:
            loss = nn.functional.cross_entropy(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()

    @torch.no_grad()
    def validate(self, loader):
        return sum(self.model(x).sum().item() for x, _ in loader)

    def fit(self, loader, val, epochs):
        for _ in range(epochs):
            self.epoch(loader)
            clean()
            self.validate(val)
            torch.cuda.empty_cache()


def folds(make, data, k):
    for i in range(k):
        model = make()
        t = Trainer(model, torch.optim.SGD(model.parameters(), 0.1))
        t.fit(data[i], data[i], 3)
        del t, model
        clean()


def style(model: nn.Module, images):
    for image in images:
        optimize(model, image)
        clean()


def optimize(model, image):
    image = image.clone().requires_grad_(True)
    opt = torch.optim.LBFGS([image])
    step = [0]
    while step[0] < 300:
        def closure():
            opt.zero_grad()
            loss = model(image).pow(2).mean()
            loss.backward()
            step[0] += 1
            return loss
        opt.step(closure)
    return image.detach()
