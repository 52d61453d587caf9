"""What other linters for PyTorch report and is right, kind by kind: no warning, no error."""

from __future__ import annotations

import pytest
from training import found, run

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
    "Decimal, strings, floats and arrays in lists": """
from decimal import Decimal
import numpy as np
def bill(rows):
    totals, names, values, arrays, total = [], [], [], [], Decimal(0)
    for name, price in rows:
        total += Decimal(price)
        totals.append(total)
        names.append(name + "s")
        values.append(float(price))
        arrays.append(np.ones(3) * values[-1])
    return totals, names, values, arrays
print(bill([("a", "1.5")])[0])
""",
    "functions called encoder, decoder, net, criterion": """
def run(encoder, decoder, net, criterion, texts):
    outs, loss, cost, losses = [], 0, 0, []
    for text in texts:
        outs.append(decoder(encoder(text)))
        loss += criterion(text)
        cost += net(text)
        losses.append(criterion(text))
    return outs, loss, cost, losses
print(run(str.encode, bytes.decode, len, len, ["a", "b"]))
""",
    "guards under other names, a guard chosen by a flag": """
import contextlib
import torch as th
from torch import autograd, inference_mode
def by_name(model, loader):
    model.eval()
    with th.no_grad():
        first = [model(x).argmax(1).tolist() for x, _ in loader]
    with inference_mode(), autograd.set_grad_enabled(False):
        return first + [model(x).argmax(1).tolist() for x, _ in loader]
def by_flag(model, loader, training):
    model.train(training)
    guard = contextlib.nullcontext() if training else torch.no_grad()
    outs = []
    for x, y in loader:
        with guard:
            outs.append(model(x).argmax(1).tolist())
    return outs
print(by_name(net, data), by_flag(net, data, False))
""",
    "gradients are wanted in evaluation: of a function": """
from torch.func import grad, jacrev, vmap
def by_transform(model, x):
    model.eval()
    def score(z):
        return model(z).sum()
    each = vmap(grad(lambda z: model(z).sum()))(x).tolist()
    return each, torch.func.vjp(score, x)[0].tolist(), jacrev(model)(x).tolist()
class Scorer:
    def __init__(self, model):
        self.model = model.eval()
    def score(self, z):
        return self.model(z).sum()
    def run(self, x):
        return torch.autograd.functional.jacobian(self.score, x).tolist()
net.eval()
def of_module(z):
    return net(z).sum()
x = data[0][0]
print(len(by_transform(net, x)), len(Scorer(net).run(x)), grad(of_module)(x).tolist())
""",
    "gradients freed by default, the cache emptied once, a checkpoint on the host": """
import io
def resume(model, opt, file, device):
    state = torch.load(file, map_location="cpu")
    model.load_state_dict(state["model"])
    opt.load_state_dict(state["opt"])
    del state
    model.to(device)
def train(model, opt, loader):
    for x, y in loader:
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    model.zero_grad()
    torch.cuda.empty_cache()
file = io.BytesIO()
torch.save({"model": net.state_dict(), "opt": sgd.state_dict()}, file)
file.seek(0)
print(resume(net, sgd, file, torch.device("cpu")), train(net, sgd, data))
""",
    "copies that are needed": """
import copy
def written(x):
    y, z = x.clone(), x.repeat(3, 1)
    y[0], z[0] = 0, 1
    return x, y, z
def view(x):
    return x.transpose(0, 1).contiguous().view(-1)
def new(rows):
    return torch.tensor([r * 2 for r in rows])
def saved(model):
    return copy.deepcopy(model.cpu().state_dict())
x = torch.randn(4, 3)
print(len(written(x)), view(x).shape, new([1.0]), len(saved(net)))
""",
}


@pytest.mark.parametrize("kind", RIGHT)
def test_is_silent(kind: str) -> None:
    assert [f"{d.row}: {d.code} {d.message}" for d in found(RIGHT[kind], hints=False)] == []


@pytest.mark.parametrize("kind", RIGHT)
def test_program_runs(kind: str) -> None:
    run(RIGHT[kind])
