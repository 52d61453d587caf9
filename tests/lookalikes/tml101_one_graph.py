"""Parts of one result put into a dict in a loop: the dict keeps one graph, whatever the loop's length."""

import torch
from torch import nn


def project(net, names):
    latent = torch.randn(len(names), 4, requires_grad=True)
    noises = [torch.randn(len(names), 2).requires_grad_() for _ in range(2)]
    images = net(latent)
    found = {}
    for i, name in enumerate(names):
        found[name] = {"image": images[i], "latent": latent[i], "noise": [noise[i : i + 1] for noise in noises]}
    return {name: parts["image"].detach().sum().item() for name, parts in found.items()}


if __name__ == "__main__":
    print(project(nn.Linear(4, 4), ["a", "b"]))
