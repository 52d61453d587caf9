"""Callbacks in a list, records, nested defaults, generators and conditional totals hold what they are given."""

from __future__ import annotations
import dataclasses
from collections import defaultdict, deque, OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, TypedDict
import torch
import torch.nn.functional as F
from torch import nn, Tensor


@dataclass
class State:
    step: int = 0
    history: list = field(default_factory=list)
    totals: dict = field(default_factory=dict)


class Row(NamedTuple):
    step: int
    loss: Tensor


class Callback:
    def on_step(self, trainer, out, loss):
        pass


class History(Callback):
    def __init__(self):
        self.margins = deque()

    def on_step(self, trainer, out, loss):
        self.margins.append(out.amax(1).mean())  # expect: TML101


class Smooth(Callback):
    def __init__(self):
        self.value = None

    def on_step(self, trainer, out, loss):
        m = out.var()
        self.value = m if self.value is None else 0.9 * self.value + 0.1 * m  # expect: TML102


class Trainer:
    def __init__(self, model, callbacks=()):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
        self.callbacks = list(callbacks)
        self.state = State()
        self.rows = []

    def fire(self, name, *args):
        for c in self.callbacks:
            getattr(c, name)(self, *args)

    def fit(self, loader):
        for x, y in loader:
            out = self.model(x)
            loss = F.cross_entropy(out, y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            for c in self.callbacks:
                c.on_step(self, out, loss)
            self.state.history.append(out.amax())  # expect: TML101
            self.state.totals["amax"] = self.state.totals.get("amax", 0.0) + out.amax()  # expect: TML101
            self.rows.append(Row(self.state.step, out.amin()))  # expect: TML101
            self.state.step += 1


def batches(model, loader):
    for x, y in loader:
        yield model(x), y


def evaluate(model, loader):
    model.eval()
    total, n = 0.0, 0
    for out, y in batches(model, loader):  # expect: TML201
        total += F.cross_entropy(out, y)  # expect: TML102
        n += len(y)
    return total / n


def by_epoch(model, opt, loader):
    logs = defaultdict(lambda: defaultdict(list))
    for epoch in range(2):
        for x, y in loader:
            out = model(x)
            loss = F.cross_entropy(out, y)
            loss.backward()
            opt.step()
            opt.zero_grad()
            logs[epoch]["m"].append(out.mean())  # expect: TML101
            logs[epoch]["pair"] += [out.amax(), out.amin()]  # expect: TML102
    return {k: [float(u) for u in v["m"]] for k, v in logs.items()}


def worst(model, opt, loader):
    best = None
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y, reduction="none")
        loss.mean().backward()
        opt.step()
        opt.zero_grad()
        top = loss.topk(1).values
        best = top if best is None else torch.cat([best, top])  # expect: TML102  # allow: TML307
    return best.tolist()


def queue(model, opt, loader):
    q = deque(maxlen=100)
    for x, y in loader:
        z = model(x)
        loss = F.cross_entropy(z, y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        q.append(z)  # expect: TML101
    return torch.stack(list(q)).mean().item()


def to_arrays(model, loader):
    model.eval()
    res = {"out": [], "y": []}
    for x, y in loader:
        out = model(x)  # expect: TML201
        for k, v in {"out": out, "y": y}.items():
            res[k].append(v)  # expect: TML101
    return {k: torch.cat(v).tolist() for k, v in res.items()}


if __name__ == "__main__":
    net = nn.Linear(4, 3)
    data = [(torch.randn(5, 4), torch.arange(5) % 3)] * 2
    t = Trainer(net, [History(), Smooth()])
    t.fit(data)
    print(
        evaluate(net, data),
        by_epoch(net, t.opt, data),
        worst(net, t.opt, data),
        queue(net, t.opt, data),
        to_arrays(net, data),
    )
    print(
        [float(r.loss) for r in t.rows],
        [float(h) for h in t.state.history],
        [float(m) for m in t.callbacks[0].margins],
        float(t.callbacks[1].value),
        t.state.totals["amax"].item(),
    )
