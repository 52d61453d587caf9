"""Beside the sizes of what an evaluation gives, its values are read."""

import torch
from torch import nn


def count(path, loader):
    net = nn.Sequential(nn.Conv2d(3, 64, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
    net.load_state_dict(torch.load(path, map_location="cpu"))
    net.eval()
    seen = right = 0
    for x, y in loader:
        out = net(x)  # expect: TML201
        seen += out.size(0)
        width = out.shape[1]
        right += int((out.argmax(1) == y).sum()) if width > 1 else 0
    return right / seen


def timed(path, loader):
    net = nn.Sequential(nn.Conv2d(3, 64, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
    net.load_state_dict(torch.load(path, map_location="cpu"))
    net.eval()
    seen = 0
    for x, _ in loader:
        out = net(x)  # expect: TML201
        seen += out.size(0)
    return seen


@torch.no_grad()
def words(decoder, features):
    found = [0]
    for _ in range(20):
        found.append(int(decoder(features).argmax(1)))
    return found


def caption(path, image):
    encoder, decoder = nn.Linear(4096, 512), nn.Linear(512, 9000)
    encoder.load_state_dict(torch.load(path, map_location="cpu"))
    encoder.eval()
    features = encoder(image)  # expect: TML201
    print(words(decoder, features), features.size(1))
