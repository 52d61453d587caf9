"""Whatever `*args` and `**kwargs` gather is used by the call, also where only some of it has a graph."""

import torch
from torch import nn
import torch.nn.functional as F


def total(*losses, **weighted):
    return sum(losses) + sum(0.1 * v for v in weighted.values())


def by_name(name, **tensors):
    return getattr(F, name)(tensors["pred"], tensors["target"])


class Loss:
    def __call__(self, *args, scale=1.0, **kwargs):
        return self.compute(*args, **kwargs) * scale

    def compute(self, pred, target, mask=None, **unused):
        d = (pred - target).abs()
        return (d if mask is None else d * mask).mean()


def a(net: nn.Module, head: nn.Module, loader, opt):
    for x, y in loader:
        feats = net(x)
        out = head(feats.detach())
        loss = total(F.l1_loss(feats, y), F.l1_loss(out, y), reg=feats.pow(2).mean(), n=len(x))
        opt.zero_grad()
        loss.backward()
        opt.step()


def b(net: nn.Module, loader, opt):
    for x, y in loader:
        pred = net(x)
        loss = by_name("l1_loss", pred=pred, target=y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def c(net: nn.Module, aux: nn.Module, loader, opt):
    crit = Loss()
    for x, y in loader:
        pred, mask = net(x), aux(x)
        loss = crit(pred, y, mask=mask, step=1)
        opt.zero_grad()
        loss.backward()
        opt.step()


def d(net: nn.Module, aux: nn.Module, loader, opt):
    crit = Loss()
    for x, y in loader:
        pred, second = net(x), aux(x)
        extra = {"mask": second}
        loss = crit(pred, target=y, name="x", **extra)
        opt.zero_grad()
        loss.backward()
        opt.step()


def e(g: nn.Module, d: nn.Module, loader, od, og):
    for real in loader:
        z = torch.randn(len(real), 8)
        fake = g(z)
        ld = total(F.softplus(-d(real)).mean(), F.softplus(d(fake.detach())).mean())
        od.zero_grad()
        ld.backward()
        od.step()
        lg = total(F.softplus(-d(fake)).mean(), fm=F.l1_loss(fake, real), step=3)
        og.zero_grad()
        lg.backward()
        og.step()
