"""Predictions that a generator yields one by one; whoever iterates over them takes labels."""

import torch
from torch import nn


class Predictor:
    def __init__(self, model):
        self.model = model.eval()

    def stream(self, loader):
        for x in loader:
            yield self.model(x)  # expect: TML201

    def predict(self, loader):
        return torch.cat(list(self.stream(loader))).argmax(1).tolist()


def main(loader):
    net = nn.Sequential(nn.Linear(32, 512), nn.ReLU(), nn.Linear(512, 4))
    print(Predictor(net).predict(loader))
