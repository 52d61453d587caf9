"""Copies that cost a few bytes: of losses, of matrices whose size is written down; and one of the type that it has."""

import torch
import torch.nn.functional as F
from torch import nn


def luma_flip(axis, chosen):
    eye = torch.eye(4).unsqueeze(0).repeat(chosen.shape[0], 1, 1)
    return eye - 2 * torch.ger(axis, axis) * chosen.view(-1, 1, 1)


class QuantisedLoss(nn.Module):
    def forward(self, quantised, prediction, target):
        loss = F.binary_cross_entropy_with_logits(prediction, target) + quantised
        return loss, {"total_loss": loss.clone().detach().mean()}


def independent_leaves(n, device):
    q = torch.rand(n, 3).to(device).half()
    q.requires_grad = True
    other = q.detach().clone().half()
    other.requires_grad = True
    (q * 2).sum().backward()
    (other * 3).sum().backward()
    return q.grad, other.grad


def rows_left(tokens, pad, step):
    long_enough = tokens.ne(pad).sum(1) > 2
    if long_enough.sum() != 0:
        tokens = step(tokens[long_enough])
    return tokens
