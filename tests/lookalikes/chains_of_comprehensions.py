"""Lists and dicts made of the members of others, through as many comprehensions as one likes, share the graph of one
forward and go with the step."""

import torch
from torch import nn


def parts(net: nn.Module, loader, opt):
    for x, y in loader:
        out = net(x)
        parts = {"a": out[:, :1], "b": out[:, 1:]}
        both = {**parts, "c": out.mean()}
        pairs = list(parts.items())
        rows = [p for p in parts.values()]
        half = [0.5 * p for p in rows]
        loss = sum(p.pow(2).mean() for p in parts.values())
        opt.zero_grad()
        loss.backward()
        opt.step()


def renamed_losses(net: nn.Module, crit: nn.Module, loader, opt):
    for x, y in loader:
        losses = crit(net(x), y)
        weighted = {k: v * 0.5 for k, v in losses.items()}
        renamed = {f"train/{k}": v for k, v in weighted.items()}
        chosen = {k: renamed[k] for k in renamed if "aux" not in k}
        loss = sum(losses.values())
        opt.zero_grad()
        loss.backward()
        opt.step()


def chunks(net: nn.Module, loader, opt):
    for x, y in loader:
        out = net(x)
        chunks = out.chunk(2, dim=1)
        views = tuple(c.view(-1) for c in chunks)
        first, *rest = views
        loss = (out - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def zipped(net: nn.Module, loader, opt):
    for x, y in loader:
        out = net(x)
        log = {k: v for k, v in zip("ab", out.unbind(1))}
        loss = (out - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()




def sorted_and_flat(net: nn.Module, loader, opt):
    for x, y in loader:
        out = net(x)
        levels = [out[:, i] for i in range(4)]
        named = {i: f for i, f in enumerate(levels)}
        order = sorted(named)
        again = {str(i): named[i] for i in order}
        flat = [t.flatten() for t in again.values()]
        pairs = [(k, v) for k, v in again.items()]
        masked = [v for k, v in pairs if k != "0"]
        loss = sum(f.sum() for f in levels)
        opt.zero_grad()
        loss.backward()
        opt.step()


def picked_and_weighted(net: nn.Module, crit: nn.Module, loader, opt, names):
    for x, y in loader:
        losses = crit(net(x), y)
        picked = [losses[n] for n in names]
        weights = dict.fromkeys(names, 0.5)
        weighted = [weights[n] * l for n, l in zip(names, picked)]
        nested = {"losses": {k: v for k, v in losses.items()}, "n": len(x)}
        tensors = {k: v for k, v in losses.items() if torch.is_tensor(v)}
        summed = sum(weighted)
        opt.zero_grad()
        sum(losses.values()).backward()
        opt.step()


def rows_of_outputs(net: nn.Module, loader, opt):
    for x, y in loader:
        outs = net(x)
        boxes = [o["boxes"] for o in outs]
        scores = [o["scores"] for o in outs]
        rows = [dict(b=b, s=s) for b, s in zip(boxes, scores)]
        loss = sum(b.sum() for b in boxes) + sum(s.sum() for s in scores)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(len(rows))
