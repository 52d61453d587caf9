"""Gradients have a graph only where a setting asks for it; optimizer states are made like gradients, and stay."""

import torch
from torch.optim import Optimizer


def first_order(model, loss_fn, tasks, order, optimizer):
    graph = order == 2
    collected, total = [], 0.0
    for x, y in tasks:
        loss = loss_fn(model(x), y)
        collected.append(dict(enumerate(torch.autograd.grad(loss, list(model.parameters()), create_graph=graph))))
        total += loss.item()
    mean = {k: torch.stack([each[k] for each in collected]).mean(dim=0) for k in collected[0]}
    for number, parameter in enumerate(model.parameters()):
        parameter.grad = mean[number]
    optimizer.step()
    return total


class Momentum(Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, {"lr": lr})

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad.data
                state = self.state[p]
                if len(state) == 0:
                    state["mean"] = grad.new().resize_as_(grad).zero_()
                    state["square"] = torch.empty_like(grad).zero_()
                state["mean"].mul_(0.9).add_(grad, alpha=0.1)
                state["square"].mul_(0.99).addcmul_(grad, grad, value=0.01)
                p.data.addcdiv_(state["mean"], state["square"].sqrt().add_(1e-8), value=-group["lr"])
