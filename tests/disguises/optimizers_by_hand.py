"""An optimizer of the project decays weights into the gradient that it averages, and nothing turns grad off."""

import torch
from torch import nn
from torch.optim import Optimizer


class Decayed(Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, dict(lr=lr, betas=(0.9, 0.999)))

    def step(self, closure=None):
        for group in self.param_groups:
            first, second = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["mean"], state["var"] = torch.zeros_like(p.data), torch.zeros_like(p.data)
                state["step"] += 1
                grad = p.grad + 1e-4 * p
                state["mean"] = first * state["mean"] + (1 - first) * grad  # expect: TML108
                state["var"] = second * state["var"] + (1 - second) * grad**2  # expect: TML108
                p.data.add_(state["mean"].data / (state["var"].data.sqrt() + 1e-8), alpha=-group["lr"])


def fit(steps):
    net = nn.Linear(4, 2)
    optimizer = Decayed(net.parameters())
    for _ in range(steps):
        loss = net(torch.randn(8, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    fit(3)
