"""A latent is fitted to a network that who calls has loaded: the leaf requires grad, and so do all the weights."""

import sys

import torch
import torch.nn.functional as F


def invert(net, target, steps):
    net.eval()  # expect: TML506
    latent = torch.randn(1, 512, device=target.device, requires_grad=True)
    optimizer = torch.optim.Adam([latent], lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(net(latent), target)
        loss.backward()
        optimizer.step()
    return latent.detach()


def grid(net, latent, size):
    points = torch.zeros(size**3, 3)
    points.requires_grad = False
    with torch.no_grad():
        return net(torch.cat([latent.expand(len(points), -1), points], 1))


def main(path, target):
    net = torch.load(path, weights_only=False)
    latent = invert(net, target, 100)
    torch.save(grid(net, latent, 32), path + ".grid")


if __name__ == "__main__":
    main(sys.argv[1], torch.zeros(1, 3))
