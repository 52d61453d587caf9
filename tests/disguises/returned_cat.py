"""Predictions are concatenated and returned; the caller turns them into labels."""

import torch
from torch import nn


def predict(model, loader):
    model.eval()
    outs = []
    for x in loader:
        outs.append(model(x))  # expect: TML101, TML201
    return torch.cat(outs)


def embed(encoder, loader):
    encoder.eval()
    rows = []
    for x in loader:
        h = encoder(x)  # expect: TML201
        rows.extend(nn.functional.normalize(h, dim=-1))  # expect: TML101
    return torch.stack(rows)


def main():
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    loader = [torch.randn(5, 4)] * 3
    labels = predict(model, loader).argmax(1)
    matrix = embed(model, loader).detach().cpu().numpy()
    print(labels.tolist(), matrix.shape)


if __name__ == "__main__":
    main()
