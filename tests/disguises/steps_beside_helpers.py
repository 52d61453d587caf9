"""A helper of a helper empties the cache behind the method that runs one step; memory errors are told by their class;
a flag stands for the phase."""

import gc
from enum import Enum, auto

import torch
from torch import nn


class Phase(Enum):
    TRAIN = auto()
    VAL = auto()


def clean():
    gc.collect()
    torch.cuda.empty_cache()


def tidy():
    clean()


def ran_out(error):
    return isinstance(error, torch.cuda.OutOfMemoryError)


class Trainer:
    def __init__(self, model: nn.Module, opt):
        self.model, self.opt = model, opt

    def step(self, x, y):
        loss = nn.functional.cross_entropy(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

    def fit(self, loader):
        for x, y in loader:
            self.step(x, y)
            tidy()  # expect: TML404


def predict(model: nn.Module, x):
    with torch.no_grad():
        try:
            return model(x)
        except Exception as error:
            if not ran_out(error):
                raise
            return torch.cat([model(part) for part in x.chunk(2)])  # expect: TML111


def epoch(model: nn.Module, loader, phase, opt):
    training = phase is Phase.TRAIN
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)  # expect: TML201
        if training:
            loss.backward()
            opt.step()
            opt.zero_grad()
        print(loss.item())


def validate(model: nn.Module, loader, opt):
    epoch(model, loader, Phase.VAL, opt)
