"""Wasted gradients and states, in other words."""

import copy
from copy import deepcopy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader


def clearing_by_module(model: nn.Module, loader: DataLoader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        model.zero_grad(set_to_none=False)  # expect: TML501
        model(x).sum().backward()
        optimizer.step()


def named_gradients(model: nn.Module):
    for _, p in model.named_parameters():
        if p.grad is not None:
            p.grad.data.zero_()  # expect: TML501


def comprehension_sum(model: nn.Module, loader: DataLoader):
    total = sum(F.mse_loss(model(x), x) for x in loader)  # expect: TML504
    total.backward()


def augmented_total(model: nn.Module, loader: DataLoader, every: int):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0
    for i, x in enumerate(loader):
        total += F.mse_loss(model(x), x)  # expect: TML504
        if (i + 1) % every == 0:
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            total = 0


def mean_of_list(model: nn.Module, loader: DataLoader):
    terms = []
    for x in loader:
        terms += [F.mse_loss(model(x), x)]  # expect: TML504
    (sum(terms) / len(terms)).backward()


def imported_deepcopy(model: nn.Module, loader: DataLoader, device):
    model.to(device)
    best, weights = float("inf"), None
    for x in loader:
        loss = model(x.to(device)).square().mean()
        loss.backward()
        if loss.item() < best:
            best = loss.item()
            weights = deepcopy(model.state_dict())  # expect: TML503
    if weights is not None:
        model.load_state_dict(weights)


def best_model(model: nn.Module, loader: DataLoader):
    model = model.cuda()
    chosen = None
    for x in loader:
        model(x.cuda()).sum().backward()
        chosen = copy.deepcopy(model)  # expect: TML503
    return chosen


def eval_in_the_constructor(loader: DataLoader):
    teacher = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval()  # expect: TML506
    student = nn.Linear(4, 4)
    optimizer = torch.optim.AdamW(student.parameters(), lr=0.1, fused=True)
    for x in loader:
        loss = F.kl_div(student(x).log_softmax(1), teacher(x).softmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def rebuilt_while_training(model: nn.Module, loader: DataLoader):
    for _ in range(3):
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)  # expect: TML505
        for x in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
