"""A step of the project runs the backward of the loss that it returns: what the sum keeps of it is nodes alone."""

import torch
import torch.nn.functional as F


def step(model, opt, x, ys):
    z = model(x)
    loss = sum(min(F.cross_entropy(part, y) for y in ys) for part in z.chunk(4, 0)) / 4
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss, float(len(ys))


def plain(model, opt, x, y):
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss, float(len(y))


def train(model, opt, loader):
    model.train()
    for epoch in range(10):
        total = 0
        for x, ys in loader:
            loss, n = step(model, opt, x, ys)
            total += loss
        print(total)


def train2(model, opt, loader):
    model.train()
    for epoch in range(10):
        total = 0
        for x, ys in loader:
            loss, n = plain(model, opt, x, ys)
            total += loss
        print(total)
