"""Models that return a tuple or dataclass of attached values to the caller's loss."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Output:
    restored: torch.Tensor
    mean: torch.Tensor
    log_var: torch.Tensor


class VAE(nn.Module):
    def __init__(self, width=8, code=2):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(width, 2 * code), nn.Linear(code, width)

    def forward(self, x):
        mean, log_var = self.encoder(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
        return Output(self.decoder(z), mean, log_var)


class Flow(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.scales = nn.ParameterList(nn.Parameter(torch.zeros(())) for _ in range(depth))

    def forward(self, x):
        log_det, trace = 0.0, [x]
        for scale in self.scales:
            x = x * scale.exp()
            log_det = log_det + scale
            trace.append(x)
        return trace, log_det


def train(vae, flow, optimizer, loader):
    for x in loader:
        out = vae(x)
        kl = -0.5 * (1 + out.log_var - out.mean.square() - out.log_var.exp()).mean()
        trace, log_det = flow(out.mean)
        loss = F.huber_loss(out.restored, x) + kl + trace[-1].square().mean() - log_det
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    a, b = VAE(), Flow()
    train(a, b, torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1), [torch.randn(4, 8)] * 2)
