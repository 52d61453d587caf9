"""Averages of outputs whose backward has run, one step at a time: what is left are nodes of the graph."""

import torch
import torch.nn.functional as F
from torch import nn


def adversarial_loss(real_pred, fake_pred):
    real_loss = F.softplus(-real_pred)
    fake_loss = F.softplus(fake_pred)
    return real_loss.mean() + fake_loss.mean()


def train(loader, generator, discriminator, optimizer, device):
    logs = {}
    for _ in range(1000):
        real = next(loader).to(device)
        fake = generator(torch.randn(len(real), 512, device=device)).detach()
        fake_pred = discriminator(fake)
        real_pred = discriminator(real)
        loss = adversarial_loss(real_pred, fake_pred)
        logs["loss"] = loss
        logs["real_score"] = real_pred.mean()
        logs["fake_score"] = fake_pred.mean()
        discriminator.zero_grad()
        loss.backward()
        optimizer.step()
        print(logs["loss"].item(), logs["real_score"].item(), logs["fake_score"].item())


def main(loader):
    discriminator = nn.Linear(512, 1).cuda()
    optimizer = torch.optim.Adam(discriminator.parameters())
    generator = nn.Linear(512, 512).cuda().requires_grad_(False)
    train(iter(loader), generator, discriminator, optimizer, "cuda")
