"""Records of a subclass, dicts of losses that are spread, views kept in a record, lazily read generators, checkpoints
through two helpers, masks beside keywords."""

from dataclasses import dataclass
from itertools import islice

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Base:
    loss: torch.Tensor


@dataclass
class Scored(Base):
    gap: torch.Tensor


@dataclass
class Token:
    cls: torch.Tensor
    label: int


class Log:
    def __init__(self):
        self.rows = []

    def add(self, **kwargs):
        self.rows.append(kwargs)


class Attention(nn.Module):
    def forward(self, q, k, v, mask):
        mask = mask[:, None].repeat_interleave(8, dim=1)  # expect: TML306
        return F.scaled_dot_product_attention(query=q, key=k, value=v, attn_mask=mask)


def pick(state):
    return state["model"] if "model" in state else state


def own(state, model):
    known = model.state_dict()
    return {k: v for k, v in state.items() if k in known}


def outputs(model, loader):
    for x in loader:
        yield model(x)


def by_subclass(net: nn.Module, loader, opt):
    log = []
    for x, y in loader:
        out = net(x)
        scored = Scored((out - y).abs().mean(), (out - y).pow(2).mean())
        opt.zero_grad()
        scored.loss.backward()
        opt.step()
        log.append(scored.gap)  # expect: TML101
    return log[-1].item()


def spread(net: nn.Module, loader):
    log = Log()
    for x, y in loader:
        out = net(x)
        losses = {"l1": (out - y).abs().mean(), "l2": out.pow(2).mean()}
        log.add(**losses)  # expect: TML101
    return log


@torch.no_grad()
def collected(model: nn.Module, loader):
    bank = []
    for x, y in loader:
        bank.append(Token(model(x)[:, 0], 1))  # expect: TML403
    return bank


def first_ones(model: nn.Module, loader):
    with torch.inference_mode():
        found = outputs(model, loader)  # expect: TML202
        found = islice(found, 4)
    return [out.argmax(-1) for out in found]


def finetuned(path, loader, opt):
    net = nn.Linear(3, 3).cuda()
    state = pick(own(torch.load(path, map_location="cpu"), net))  # expect: TML602
    net.load_state_dict(state)
    for x, y in loader:
        F.mse_loss(net(x), y).backward()
        opt.step()
        opt.zero_grad()
