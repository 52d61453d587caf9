"""Evaluations that need a graph: FGSM, PGD, saliency, integrated gradients."""

import torch
import torch.nn.functional as F
from torch import nn


def fgsm(model, x, y, eps):
    x = x.clone().detach_().requires_grad_(True)
    F.cross_entropy(model(x), y).backward()
    return (x + eps * x.grad.sign()).detach()


def pgd(model, x, y, eps=0.1, steps=3):
    adv = x.detach() + torch.empty_like(x).uniform_(-eps, eps)
    for _ in range(steps):
        adv.requires_grad_(True)
        loss = F.cross_entropy(model(adv), y)
        grad = torch.autograd.grad(loss, [adv])[0]
        adv = torch.min(torch.max(adv.detach() + 0.02 * grad.sign(), x - eps), x + eps)
    return adv


def robust_accuracy(model, loader):
    model.eval()
    hits, seen = 0, 0
    for x, y in loader:
        adv = pgd(model, fgsm(model, x, y, 0.05), y)
        with torch.no_grad():
            hits += (model(adv).argmax(1) == y).sum().item()
        seen += len(x)
    return hits / seen


def integrated_gradients(model, x, target, steps=4):
    model.eval()
    total = torch.zeros_like(x)
    for k in range(1, steps + 1):
        point = (x * k / steps).requires_grad_(True)
        score = model(point)[:, target].sum()
        total += torch.autograd.grad(score, point)[0]
    return x * total / steps


if __name__ == "__main__":
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    data = [(torch.randn(5, 4), torch.arange(5) % 3)]
    print(robust_accuracy(net, data), integrated_gradients(net, data[0][0], 1).shape)
