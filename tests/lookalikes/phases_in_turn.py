"""Loops over phases that switch grad off in time, train in all of them, or keep the test around the forward."""

import torch
from torch import nn


def switched(model, loaders, optimizer):
    for phase in ["train", "valid"]:
        for x, y in loaders[phase]:
            with torch.set_grad_enabled(phase == "train"):
                loss = nn.functional.cross_entropy(model(x), y)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


def switched_by_statement(model, loaders, optimizer):
    for phase in ["train", "valid"]:
        torch.set_grad_enabled(phase == "train")
        for x, y in loaders[phase]:
            loss = nn.functional.cross_entropy(model(x), y)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    torch.set_grad_enabled(True)


def always(model, loaders, optimizer):
    for phase in ["warm", "main"]:
        for x, y in loaders[phase]:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            if phase == "main":
                optimizer.step()


def two_ways(model, loaders, optimizer):
    for phase in ["train", "valid"]:
        for x, y in loaders[phase]:
            if phase == "train":
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x), y).backward()
                optimizer.step()
            else:
                with torch.no_grad():
                    print(nn.functional.cross_entropy(model(x), y).item())


def one_phase_and_a_warm_up(model, loader, optimizer):
    for step in [1, 2, 4]:
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y) / step
            if step:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


def frozen_by_method(model, loaders, optimizer):
    for phase in ["train", "valid"]:
        if phase == "train":
            model.train()
            model.requires_grad_(True)
        else:
            model.eval()
            model.requires_grad_(False)
        for x, y in loaders[phase]:
            loss = nn.functional.cross_entropy(model(x), y)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


def frozen_one_by_one(model, loaders, optimizer):
    for phase in ["train", "valid"]:
        for p in model.parameters():
            p.requires_grad = phase == "train"
        for x, y in loaders[phase]:
            loss = nn.functional.cross_entropy(model(x), y)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


def freeze(model, off):
    for p in model.parameters():
        p.requires_grad = not off


def frozen_by_a_helper(model, loaders, optimizer):
    for phase in ["train", "valid"]:
        freeze(model, phase == "valid")
        for x, y in loaders[phase]:
            loss = nn.functional.cross_entropy(model(x), y)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
