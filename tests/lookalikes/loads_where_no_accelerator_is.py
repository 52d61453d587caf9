"""Weights that are read in the arm of a program that runs where the model was not moved."""

import sys

import torch
from torch import nn


def evaluate(path, loader):
    model = nn.Sequential(nn.Linear(4096, 4096), nn.Linear(4096, 2))
    if torch.cuda.is_available():
        model = model.cuda()
    if torch.cuda.is_available():
        model = nn.DataParallel(model).cuda()
    else:
        model.load_state_dict(torch.load(path))
        model = nn.DataParallel(model)
    model.eval()
    with torch.no_grad():
        return [model(x).argmax(-1).tolist() for x in loader]


def scored(path, loader, on_host):
    model = nn.Linear(4096, 4096)
    if not on_host:
        model.cuda()
    if on_host:
        model.load_state_dict(torch.load(path))
    model.eval()
    with torch.no_grad():
        return [model(x).sum().item() for x in loader]


if __name__ == "__main__":
    print(evaluate(sys.argv[1], []), scored(sys.argv[1], [], True))
