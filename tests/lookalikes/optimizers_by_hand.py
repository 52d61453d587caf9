"""Optimizers of the project that average gradients, data, or under no_grad; counts beside them."""

import torch
from torch import nn
from torch.optim import Optimizer


class Averaged(Optimizer):
    def __init__(self, params, lr=0.1):
        super().__init__(params, dict(lr=lr))

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["step"], state["mean"] = 0, torch.zeros_like(p.data)
                    state["var"] = torch.zeros_like(p)
                state["step"] += 1
                state["mean"] = 0.9 * state["mean"] + 0.1 * p.grad
                state["var"] = 0.9 * state["var"] + 0.1 * (p.grad.data + 1e-4 * p.data) ** 2
                p.data.add_(state["mean"] / (state["var"].sqrt() + 1e-8), alpha=-group["lr"])


class Quiet(Optimizer):
    def __init__(self, params, lr=0.1):
        super().__init__(params, dict(lr=lr))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                self._update(p, group)

    def _update(self, p, group):
        state = self.state[p]
        state["mean"] = 0.9 * state.get("mean", torch.zeros_like(p)) + 0.1 * (p.grad + 1e-4 * p)
        p.add_(state["mean"], alpha=-group["lr"])


def fit(steps):
    net = nn.Linear(4, 2)
    for optimizer in (Averaged(net.parameters()), Quiet(net.parameters())):
        for _ in range(steps):
            loss = net(torch.randn(8, 4)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    fit(3)
