"""A helper that leaves where there is no accelerator empties the cache in every step all the same."""

import gc

import torch
from torch import nn


def cleanup():
    if not torch.cuda.is_available():
        return
    gc.collect()
    torch.cuda.empty_cache()


def train(model: nn.Module, loader, opt):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        cleanup()  # expect: TML404
