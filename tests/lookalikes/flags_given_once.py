"""A flag that stands for the phase also decides on the grad mode, or on the way out."""

import torch
from torch import nn


def epoch(model: nn.Module, loader, split, opt):
    training = split == "train"
    model.train(training)
    with torch.set_grad_enabled(training):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            if training:
                opt.zero_grad()
                loss.backward()
                opt.step()
            print(loss.item())


def epoch2(model: nn.Module, loader, split, opt):
    training = split == "train"
    context = torch.enable_grad() if training else torch.no_grad()
    for x, y in loader:
        with context:
            loss = nn.functional.mse_loss(model(x), y)
        if not training:
            continue
        opt.zero_grad()
        loss.backward()
        opt.step()


def epoch3(model: nn.Module, loader, split, opt):
    training = split == "train"
    for x, y in loader:
        if training:
            loss = nn.functional.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        else:
            with torch.no_grad():
                loss = nn.functional.mse_loss(model(x), y)
        print(loss.item())


def epoch4(model: nn.Module, loader, split, opt):
    training = split == "train"
    previous = torch.is_grad_enabled()
    torch.set_grad_enabled(training)
    try:
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            if training:
                loss.backward()
                opt.step()
    finally:
        torch.set_grad_enabled(previous)


def epoch5(model: nn.Module, loader, split, opt):
    is_train = split == "train"
    if not is_train:
        return evaluate(model, loader)
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        if is_train:
            loss.backward()
            opt.step()


@torch.no_grad()
def evaluate(model, loader):
    return sum(nn.functional.mse_loss(model(x), y).item() for x, y in loader)


def main(model: nn.Module, loader, opt):
    for split in ("train", "val"):
        epoch(model, loader, split, opt)
    for f in (epoch2, epoch3):
        f(model, loader, "val", opt)
    epoch2(model, loader, "val", opt)
    epoch3(model, loader, "val", opt)
    epoch4(model, loader, "val", opt)
    epoch5(model, loader, "val", opt)
