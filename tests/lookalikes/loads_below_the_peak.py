"""Checkpoints that cost nothing at the peak: of a model on the host, whatever another branch moves; behind training."""

import torch
from torch import nn


def get_model(kind):
    if kind == "2d":
        model = nn.Linear(512, 512)
        model = model.cuda()
    elif kind == "s3d":
        model = nn.Linear(512, 1024)
        model.load_state_dict(torch.load("s3d.pth"))
        model = model.cuda()
    else:
        raise ValueError("model not supported yet")
    model.eval()
    return model


class Experiment:
    def __init__(self):
        self.model = nn.Linear(8, 8).to("cuda")

    def train(self, loader, optimizer, path):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(self.model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
        torch.save(self.model.state_dict(), path)
        self.model.load_state_dict(torch.load(path))
        return self.model


def epoch(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
        optimizer.step()


def train_and_restore(loader, path):
    model = nn.Linear(8, 8).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(10):
        epoch(model, loader, optimizer)
        torch.save(model.state_dict(), path)
    model.load_state_dict(torch.load(path))
    return model
