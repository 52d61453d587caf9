"""A helper that renames the keys of what was loaded returns the same tensors."""

import os
import tempfile

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def stripped(state, prefix="module."):
    for key in list(state):
        if key.startswith(prefix):
            state[key[len(prefix) :]] = state.pop(key)
    return state


def renamed(state):
    return {key.replace("gamma", "weight"): value for key, value in state.items()}


def fit(model, steps=2):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(2, 4)).mean().backward()
        optimizer.step()


def resume(path, model):
    checkpoint = torch.load(path, map_location=DEVICE)  # expect: TML602
    state = stripped(checkpoint["model"])
    model.load_state_dict(state)
    checkpoint = None
    fit(model)


def restart(path, model):
    checkpoint = torch.load(path, map_location=DEVICE)  # expect: TML602
    model.load_state_dict(renamed(checkpoint["model"]))
    fit(model)
    return model


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "model.pt")
        torch.save({"model": nn.Linear(4, 4).state_dict()}, name)
        resume(name, nn.Linear(4, 4))
        restart(name, nn.Linear(4, 4))
