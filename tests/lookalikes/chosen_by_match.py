"""Patterns tell kinds of losses and batches apart; the numbers of them are kept."""

import torch
from torch import nn


def loss_of(kind, pred, y):
    match kind:
        case "l1":
            return (pred - y).abs().mean()
        case "mse" | "l2":
            return (pred - y).pow(2).mean()
        case {"name": name, "weight": weight}:
            return weight * loss_of(name, pred, y)
        case [first, *rest]:
            return loss_of(first, pred, y) + sum(loss_of(k, pred, y) for k in rest)
        case nn.Module() as criterion:
            return criterion(pred, y)
        case _:
            raise ValueError(kind)


def unwrap(out):
    match out:
        case (logits, _):
            return logits
        case {"logits": logits}:
            return logits
        case torch.Tensor():
            return out
    return out.logits


def move(batch, device):
    match batch:
        case torch.Tensor():
            return batch.to(device)
        case dict():
            return {k: move(v, device) for k, v in batch.items()}
        case list() | tuple():
            return type(batch)(move(v, device) for v in batch)
        case other:
            return other


def train(net: nn.Module, loader, opt, kind):
    history = []
    for batch in loader:
        x, y = move(batch, "cuda")
        pred = unwrap(net(x))
        loss = loss_of(kind, pred, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(loss.item())
    return history


def train2(net: nn.Module, loader, opt):
    history = []
    for x, y in loader:
        out = net(x)
        match out:
            case (pred, aux):
                loss = (pred - y).pow(2).mean() + aux.mean()
            case pred:
                loss = (pred - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        match loss.item():
            case value if value > 10:
                print("large", value)
            case value:
                history.append(value)
    return history
