"""Critic steps whose graph is walked twice, with gradients as part of the loss."""

import torch
from torch import autograd, nn


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(len(real), 1, device=real.device)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(mixed)
    (grads,) = autograd.grad(
        outputs=score,
        inputs=mixed,
        grad_outputs=torch.ones_like(score),
        create_graph=True,
    )
    return ((grads.flatten(1).norm(2, dim=1) - 1) ** 2).mean()


def r1_penalty(critic, real):
    real = real.detach().requires_grad_(True)
    (grads,) = autograd.grad(critic(real).sum(), real, create_graph=True)
    return grads.square().sum(1).mean()


def train_critic(critic, generator, optimizer, loader):
    for real in loader:
        with torch.no_grad():
            fake = generator(torch.randn(len(real), 2))
        loss = critic(fake).mean() - critic(real).mean()
        loss = loss + 10 * gradient_penalty(critic, real, fake) + r1_penalty(critic, real)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    d, g = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), nn.Linear(2, 4)
    train_critic(d, g, torch.optim.Adam(d.parameters()), [torch.randn(5, 4)] * 2)
