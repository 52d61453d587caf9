"""Clones of which one side is written while the other lives."""

import torch
from torch import nn


def mask_tokens(tokens, mask_id, p=0.5):
    inputs = tokens.clone()
    inputs[torch.rand(tokens.shape) < p] = mask_id
    return inputs, tokens


def mixed(images, permutation, lam=0.3):
    result = images.clone()
    result.mul_(lam).add_(images[permutation], alpha=1 - lam)
    return result


def history(state, steps=3):
    trace = []
    for _ in range(steps):
        trace.append(state.clone())
        state.mul_(0.5)
    return trace


class Ema:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = [p.detach().clone() for p in model.parameters()]

    @torch.no_grad()
    def update(self, model):
        for shadow, p in zip(self.shadow, model.parameters()):
            shadow.lerp_(p, 1 - self.decay)


def before_inplace(x):
    h = x * 2
    return torch.relu_(h.clone()) + h


if __name__ == "__main__":
    net = nn.Linear(2, 2)
    Ema(net).update(net)
    print(mask_tokens(torch.ones(4).long(), 0), mixed(torch.ones(2, 2), [1, 0]), history(torch.ones(2)))
    print(before_inplace(torch.ones(2, requires_grad=True)))


def while_others_write(trainer, module, data):
    before = data.x.clone().cpu()
    trainer.fit(module, data)
    assert torch.all(data.x.cpu() > before)


class Edges:
    def __init__(self, row: torch.Tensor, col: torch.Tensor):
        self.row = row.clone().cpu()
        self.col = col.clone().cpu()


def substituted(rows: torch.Tensor, size):
    """The multiplication saves the clone for the backward; the rows are written before that."""
    rows = -rows.tril(-1)
    for i in range(1, size):
        row = rows[..., i, :i].clone()
        above = rows[..., :i, :i].clone()
        rows[..., i, :i] = row + (row.unsqueeze(-1) * above).sum(-2)
    return rows
