"""A sampler that a factory makes: the nested function runs the network for whoever calls what the factory returned."""

import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, channels, 3, padding=1), nn.SiLU(), nn.Conv2d(channels, 3, 3, padding=1))

    def forward(self, x, t):
        return self.net(x) * t


def make_sampler(model, steps, device):
    alphas = torch.linspace(0.99, 0.01, steps, device=device)

    def sample(count, size):
        model.eval()
        x = torch.randn(count, 3, size, size, device=device)
        for i in range(steps):
            noise = model(x, alphas[i])  # expect: TML201
            x = x - (1 - alphas[i]) * noise
        model.train()
        return x.clamp(-1, 1)

    return sample


def train(loader, epochs, device):
    model = Denoiser(128).to(device)
    sampler = make_sampler(model, 1000, device)
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(epochs):
        for x in loader:
            t = torch.rand((), device=device)
            noise = torch.randn_like(x)
            loss = (model(x + noise * t, t) - noise).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        torch.save(sampler(16, 64).cpu(), f"preview_{epoch}.pt")
