"""The cache is emptied between models, each of which a function for one step trains."""

import gc
import torch
from torch import nn


def clean():
    gc.collect()
    torch.cuda.empty_cache()


def build(name):
    return nn.Linear(3, {"a": 3, "b": 4}[name]).cuda()


def step(model, x, opt):
    opt.zero_grad()
    model(x).sum().backward()
    opt.step()


class Runner:
    def __init__(self, name):
        self.model = build(name)
        self.opt = torch.optim.SGD(self.model.parameters(), 0.1)

    def step(self, x):
        self.opt.zero_grad()
        self.model(x).sum().backward()
        self.opt.step()


def compare(names, x):
    for name in names:
        model = build(name)
        step(model, x, torch.optim.SGD(model.parameters(), 0.1))
        del model
        clean()


def compare2(names, x):
    for name in names:
        runner = Runner(name)
        runner.step(x)
        del runner
        clean()


def compare3(names, x):
    for name in names:
        Runner(name).step(x)
        clean()


def smoke(x):
    for name, size in [("a", 1), ("b", 2)]:
        m = nn.Linear(size, size).cuda()
        o = torch.optim.AdamW(m.parameters())
        step(m, x[:, :size], o)
        clean()
