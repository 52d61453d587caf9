"""One loop over the phases trains in the first and only looks at the loss in the others."""

import torch
from torch import nn


def written_down(model, loaders, optimizer):
    for split in ["train", "valid"]:
        model.train() if split == "train" else model.eval()
        total = 0.0
        for x, y in loaders[split]:
            out = model(x)  # expect: TML201
            loss = nn.functional.cross_entropy(out, y)
            if split == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item()
        print(split, total)


def named(net, loaders, optimizer, epochs, tested):
    phases = ("fit", "check") + (("test",) if tested else ())
    for _ in range(epochs):
        for phase in phases:
            for x, y in loaders[phase]:
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(net(x), y)  # expect: TML201
                if phase != "fit":
                    print(phase, loss.item())
                    continue
                loss.backward()
                optimizer.step()


def flags(net, batches, optimizer):
    for training in (True, False):
        net.train(training)
        for x in batches:
            loss = net(x).pow(2).mean()  # expect: TML201
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(float(loss))


def backbone_frozen_before(model, loaders, optimizer):
    for p in model.backbone.parameters():
        p.requires_grad = False
    for phase in ["train", "valid"]:
        for x, y in loaders[phase]:
            loss = nn.functional.cross_entropy(model(x), y)  # expect: TML201
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
