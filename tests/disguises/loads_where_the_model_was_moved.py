"""Weights that are read in the same arm of a test as the model is moved in, or in either."""

import torch
from torch import nn


def evaluate(path, loader):
    model = nn.Sequential(nn.Linear(4096, 4096), nn.Linear(4096, 2))
    if torch.cuda.is_available():
        model = model.cuda()
    if torch.cuda.is_available():
        model.load_state_dict(torch.load(path))  # expect: TML601
    model.eval()
    with torch.no_grad():
        return [model(x).argmax(-1).tolist() for x in loader]


def scored(path, loader, small):
    model = nn.Linear(4096, 4096)
    if torch.cuda.is_available():
        model.cuda()
    if not small:
        model.load_state_dict(torch.load(path))  # expect: TML601
    model.eval()
    with torch.no_grad():
        return [model(x).sum().item() for x in loader]


class Scorer:
    def __init__(self, path, parallel):
        self.model = nn.Linear(4096, 4096)
        if parallel:
            self.model = nn.DataParallel(self.model)
            self.model = self.model.cuda()
        checkpoint = torch.load(path)  # expect: TML601
        if parallel:
            self.model.module.load_state_dict(checkpoint["state_dict"])
        else:
            self.model.load_state_dict(checkpoint["state_dict"])
        self.epoch = checkpoint["epoch"]
