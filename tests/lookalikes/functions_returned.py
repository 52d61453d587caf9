"""Functions that factories return: their callers train with what they give, or turn grad off."""

import torch
import torch.nn.functional as F
from torch import nn


def make_step(model):
    def step(x):
        model.eval()
        return model(x)

    return step


def make_preview(model):
    def preview(x):
        model.eval()
        return model(x)

    return preview


def make_scorer(model):
    def score(x):
        model.eval()
        return model(x)

    return score


def train(loader, x):
    model = nn.Linear(4, 4)
    step = make_step(model)
    preview = make_preview(model)
    optimizer = torch.optim.Adam(model.parameters())
    for batch, target in loader:
        loss = F.mse_loss(step(batch), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            print(preview(x).mean().item())


def served(requests):
    score = make_scorer(nn.Linear(4, 4))
    print(score(requests[0]).mean().item())
    return {"score": score}
