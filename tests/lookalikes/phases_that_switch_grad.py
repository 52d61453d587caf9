"""The phase that leaves the backward out also chooses the grad mode, or leaves the function before the forward."""

import contextlib
from enum import Enum

import torch
from torch import nn
from torch.nn.functional import mse_loss


class Split(Enum):
    TRAIN = 0
    VAL = 1


class Flag(Enum):
    ON = 1
    YES = 1
    OFF = 0


GRAD = {Split.TRAIN: contextlib.nullcontext, Split.VAL: torch.no_grad}


def by_table(model: nn.Module, loader, split, opt):
    with GRAD[split]():
        for x, y in loader:
            loss = mse_loss(model(x), y)
            if split is Split.TRAIN:
                loss.backward()
                opt.step()
                opt.zero_grad()
            print(loss.item())


def by_name(model: nn.Module, loader, split, opt):
    mode = GRAD.get(split)
    with mode():
        for x, y in loader:
            loss = mse_loss(model(x), y)
            if split is Split.TRAIN:
                loss.backward()
                opt.step()
                opt.zero_grad()
            print(loss.item())


def by_leaving(model: nn.Module, loader, split, opt):
    if split is Split.VAL:
        with torch.no_grad():
            return sum(mse_loss(model(x), y).item() for x, y in loader)
    for x, y in loader:
        loss = mse_loss(model(x), y)
        if split is Split.TRAIN:
            loss.backward()
            opt.step()
            opt.zero_grad()
    return 0.0


def by_another_name(model: nn.Module, loader, flag, opt):
    for x, y in loader:
        loss = mse_loss(model(x), y)
        if flag is Flag.ON:
            loss.backward()
            opt.step()
            opt.zero_grad()
        print(loss.item())


def main(model: nn.Module, loader, opt):
    by_table(model, loader, Split.VAL, opt)
    by_name(model, loader, Split.VAL, opt)
    by_leaving(model, loader, Split.VAL, opt)
    by_another_name(model, loader, Flag.YES, opt)
