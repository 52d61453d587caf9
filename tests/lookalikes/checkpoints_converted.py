"""What is loaded goes with the helper, or is let go of before the work starts."""

import os
import tempfile

import torch
from torch import nn


def stripped(state, prefix="module."):
    return {key.removeprefix(prefix): value for key, value in state.items()}


def narrowed(state):
    return {key: value.bfloat16() for key, value in state.items()}


def restored(model, state):
    model.load_state_dict(state)
    return model


def sizes(state):
    return {key: value.numel() for key, value in state.items()}


def fit(model, steps=2):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(2, 4)).mean().backward()
        optimizer.step()


def resume(path, model):
    model.load_state_dict(stripped(torch.load(path, map_location="cpu")["model"]))
    fit(model)


def restart(path, model):
    checkpoint = torch.load(path)
    state = stripped(checkpoint["model"])
    model.load_state_dict(state)
    del checkpoint, state
    fit(model)


def chained(path, model):
    model = restored(model, torch.load(path, map_location="cpu")["model"])
    fit(model)
    return sum(sizes(model.state_dict()).values())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "model.pt")
        torch.save({"model": nn.Linear(4, 4).state_dict()}, name)
        resume(name, nn.Linear(4, 4))
        restart(name, nn.Linear(4, 4))
        print(chained(name, nn.Linear(4, 4)), len(narrowed(nn.Linear(4, 4).state_dict())))
