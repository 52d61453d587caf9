"""A latent is fitted to a network that who calls has frozen: itself, by a helper, by code out of sight."""

import sys

import torch
import torch.nn.functional as F
from networks import prepare


def invert(net, target):
    net.eval()
    latent = torch.randn(1, 512, device=target.device, requires_grad=True)
    optimizer = torch.optim.Adam([latent], lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        loss = F.mse_loss(net(latent), target)
        loss.backward()
        optimizer.step()
    return latent.detach()


def invert_faces(net, target):
    net.eval()
    latent = torch.randn(1, 512, device=target.device, requires_grad=True)
    optimizer = torch.optim.Adam([latent], lr=0.1)
    loss = F.mse_loss(net(latent), target)
    loss.backward()
    optimizer.step()
    return latent.detach()


def invert_cars(net, target):
    net.eval()
    latent = torch.randn(1, 512, device=target.device, requires_grad=True)
    optimizer = torch.optim.Adam([latent], lr=0.1)
    loss = F.mse_loss(net(latent), target)
    loss.backward()
    optimizer.step()
    return latent.detach()


def still(net, names):
    for name, p in net.named_parameters():
        p.requires_grad_(name in names)


def main(path, target):
    net = torch.load(path, weights_only=False)
    for p in net.parameters():
        p.requires_grad = False
    torch.save(invert(net, target), path + ".w")


def faces(path, target):
    net = torch.load(path, weights_only=False).cuda()
    still(net, ["head.weight"])
    torch.save(invert_faces(net, target), path + ".w")


def cars(path, target):
    net = torch.nn.Linear(512, 3)
    prepare(net, path)
    torch.save(invert_cars(net, target), path + ".w")


if __name__ == "__main__":
    main(sys.argv[1], torch.zeros(1, 3))
    faces(sys.argv[1], torch.zeros(1, 3))
    cars(sys.argv[1], torch.zeros(1, 3))
