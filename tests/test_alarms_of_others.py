"""What other linters for PyTorch report and is right, kind by kind: no warning, no error."""

from __future__ import annotations

from pathlib import Path

import pytest
from linting import findings
from test_misses_of_others import PRELUDE

RIGHT = {
    "NumPy": """
import numpy as np
def train(w, loader):
    losses, total = [], 0.0
    for x, y in loader:
        loss = np.mean((x @ w - y) ** 2)
        losses.append(loss)
        total += loss
    return losses, total
print(train(np.ones(3), [(np.ones((2, 3)), np.ones(2))])[1])
""",
    "Keras": """
def fit(model, loader):
    losses = []
    for x, y in loader:
        loss = model.train_on_batch(x, y)
        losses.append(loss)
    return losses
""",
    "JAX": """
def fit(params, loader, grad_fn):
    losses = []
    for x, y in loader:
        loss, grads = grad_fn(params, x, y)
        params = [p - 0.1 * g for p, g in zip(params, grads)]
        losses.append(loss)
    return params, losses
""",
    "orders": """
def bill(orders):
    total, cost, lines = 0, 0.0, []
    for order in orders:
        total += order["count"]
        cost = cost + order["price"]
        l = order["name"].strip()
        lines.append(l)
    return total, cost, lines
print(bill([{"count": 1, "price": 2.0, "name": " a"}]))
""",
    "functions called module, generator, policy": """
def run(module, generator, policy, prompts):
    outs = []
    for n, prompt in enumerate(prompts):
        outs.append(module(n))
        outs.append(generator(prompt))
        outs.append(policy(prompt))
    return outs
print(run(abs, len, str.upper, ["a", "b"]))
""",
    "a helper returns a float through a variable, and in two returns": """
def value_of(model, x, y):
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    value = loss.item()
    return value
def spread(out):
    if out.numel() < 2:
        return 0.0
    return out.var().item()
def train(model, opt, loader):
    values = []
    for x, y in loader:
        values.append(value_of(model, x, y))
        values.append(spread(step(model, opt, x, y)))
    return values
print(train(net, sgd, data))
""",
    "a method returns a float": """
class Trainer:
    def __init__(self, model, opt):
        self.model, self.opt, self.losses, self.total = model, opt, [], 0.0
    def step(self, x, y) -> float:
        loss = F.cross_entropy(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return float(loss)
    def run(self, loader):
        for x, y in loader:
            loss = self.step(x, y)
            self.losses.append(loss)
            self.total += loss
print(Trainer(net, sgd).run(data))
""",
    "accuracy and decoded text": """
def accuracy(out, y):
    return (out.argmax(1) == y).float().mean()
def train(model, opt, loader, tokenizer):
    accs, texts = [], []
    for x, y in loader:
        out = step(model, opt, x, y)
        accs.append(accuracy(out, y))
        texts.append(tokenizer.decode(out.argmax(1).tolist()))
    return accs, texts
class Tokenizer:
    def decode(self, ids):
        return " ".join(map(str, ids))
print(train(net, sgd, data, Tokenizer())[1])
""",
    "indices of max and topk": """
def train(model, opt, loader):
    labels, best = [], []
    for x, y in loader:
        out = step(model, opt, x, y)
        _, idx = torch.max(out, 1)
        labels.append(idx)
        best.append(out.topk(2).indices)
    return torch.cat(labels), best
print(train(net, sgd, data)[0])
""",
    "the backward is in a helper": """
def finish(opt, losses):
    opt.zero_grad()
    torch.stack(losses).mean().backward()
    opt.step()
def train(model, opt, loader):
    losses = []
    for x, y in loader:
        losses.append(F.cross_entropy(model(x), y))
    finish(opt, losses)
print(train(net, sgd, data))
""",
    "a policy gradient over an episode": """
def episode(policy, opt, states, rewards):
    terms = []
    for s, r in zip(states, rewards):
        dist = torch.distributions.Categorical(logits=policy(s))
        action = dist.sample()
        terms.append(-dist.log_prob(action) * r)
    opt.zero_grad()
    sum(terms).backward()
    opt.step()
print(episode(net, sgd, torch.randn(3, 4), [1.0, 0.0, 2.0]))
""",
    "losses wait on self for their backward": """
class Delayed:
    def __init__(self, model, opt):
        self.model, self.opt, self.pending = model, opt, []
    def push(self, x, y):
        self.pending.append(F.cross_entropy(self.model(x), y))
    def flush(self):
        while self.pending:
            self.opt.zero_grad()
            self.pending.pop(0).backward()
            self.opt.step()
d = Delayed(net, sgd)
d.push(*data[0])
d.flush()
""",
    "a framework's validation step": """
import types
pl = types.SimpleNamespace(LightningModule=nn.Module)
try:
    import pytorch_lightning as pl
except ImportError:
    pass
class Lit(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3)
        self.outputs = []
    def validation_step(self, batch, index):
        x, y = batch
        self.outputs.append(F.cross_entropy(self.net(x), y))
    def on_validation_epoch_end(self):
        print(torch.stack(self.outputs).mean().item())
        self.outputs.clear()
""",
    "the only caller holds no_grad": """
def forward_all(model, loader):
    return [model(x) for x, _ in loader]
def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        return torch.cat(forward_all(model, loader)).argmax(1).tolist()
print(evaluate(net, data))
""",
    "an own context manager, an own decorator": """
import contextlib, functools
@contextlib.contextmanager
def evaluating(model):
    model.eval()
    with torch.no_grad():
        yield model
    model.train()
def quiet(fn):
    @functools.wraps(fn)
    def inner(*args, **kwargs):
        with torch.no_grad():
            return fn(*args, **kwargs)
    return inner
def first(model, loader):
    losses = []
    with evaluating(model):
        for x, y in loader:
            losses.append(F.cross_entropy(model(x), y))
    return sum(losses).item()
@quiet
def second(model, loader):
    model.eval()
    outs = []
    for x, _ in loader:
        outs.append(model(x))
    return torch.cat(outs).argmax(1).tolist()
print(first(net, data), second(net, data))
""",
    "set_grad_enabled as a statement, a guard in a variable, an ExitStack": """
import contextlib
from torch import no_grad as ng
def by_statement(model, loader):
    model.eval()
    torch.set_grad_enabled(False)
    outs = [model(x) for x, _ in loader]
    torch.set_grad_enabled(True)
    return torch.cat(outs).argmax(1).tolist()
def by_variable(model, loader):
    model.eval()
    guard = torch.no_grad()
    with guard:
        return sum(F.cross_entropy(model(x), y) for x, y in loader).item()
def by_stack(model, loader):
    model.eval()
    with contextlib.ExitStack() as stack:
        stack.enter_context(ng())
        return [model(x).argmax(1).tolist() for x, _ in loader]
print(by_statement(net, data), by_variable(net, data), by_stack(net, data))
""",
    "frozen parameters": """
def features(backbone, loader):
    for p in backbone.parameters():
        p.requires_grad = False
    backbone.eval()
    outs = []
    for x, _ in loader:
        outs.append(backbone(x))
    return torch.cat(outs).tolist()
print(len(features(nn.Linear(4, 2), data)))
""",
    "gradients are wanted in evaluation": """
def saliency(model, loader):
    model.eval()
    maps = []
    for x, y in loader:
        x = x.clone().requires_grad_(True)
        loss = F.cross_entropy(model(x), y)
        (grad,) = torch.autograd.grad(loss, x)
        maps.append(grad.abs())
    return torch.cat(maps).mean().item()
print(saliency(net, data))
""",
    "stored detached, in a tuple, a list and a dict": """
def train(model, opt, loader):
    history, rows, named = [], [], []
    for k, (x, y) in enumerate(loader):
        out = step(model, opt, x, y)
        history.append((k, out.var().detach()))
        rows.extend([out.var().item()])
        named.append({"step": k, "spread": float(out.var())})
    return history, rows, named
print(len(train(net, sgd, data)))
""",
}


@pytest.mark.parametrize("kind", RIGHT)
def test_is_silent(kind: str) -> None:
    found = findings(PRELUDE + RIGHT[kind], Path("program.py"), hints=False)
    assert [f"{d.row}: {d.code} {d.message}" for d in found] == []


@pytest.mark.parametrize("kind", RIGHT)
def test_program_runs(kind: str) -> None:
    exec(compile(PRELUDE + RIGHT[kind], "program.py", "exec"), {"__name__": "program"})
