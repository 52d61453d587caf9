"""What no other linter for PyTorch has a rule for, kind by kind: each is found at the marked line."""

from __future__ import annotations

import pytest
from training import missed, run

UNCLAIMED = {
    "hooks that store what they see": """
seen = []
def keep(module, args, out):
    seen.append(out)  # expect: TML105
net[0].register_forward_hook(keep)
def watch(model, opt, loader):
    local = []
    model[1].register_forward_hook(lambda module, args, out: local.append(out))  # expect: TML105
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return len(local)
print(watch(net, sgd, data), len(seen))
""",
    "a stored lambda, function or partial holds a tensor": """
import functools
def train(model, opt, loader):
    kept, parts, checks = [], [], []
    for x, y in loader:
        out = model(x)
        kept.append(lambda out=out: out.var().item())  # expect: TML101
        parts.append(functools.partial(torch.var, out, unbiased=False))  # expect: TML101
        def check(seen=out):
            return seen.isfinite().all().item()
        checks.append(check)  # expect: TML101
        opt.zero_grad()
        step(model, opt, x, y)
    return [k() for k in kept], [p().item() for p in parts], all(c() for c in checks)
print(train(net, sgd, data))
""",
    "a hook is registered each time": """
def train(model, opt, loader):
    for x, y in loader:
        model[0].register_forward_hook(lambda module, args, out: print(out.shape))  # expect: TML106
        step(model, opt, x, y)
print(train(net, sgd, data))
""",
    "a recurrent state is carried, in training and in evaluation": """
def train(cell, head, opt, loader):
    state = torch.zeros(5, 8)
    for x, y in loader:
        state = cell(x, state)  # expect: TML107
        loss = F.cross_entropy(head(state), y)
        opt.zero_grad()
        loss.backward(retain_graph=True)
    return float(loss)
def evaluate(cell, head, loader):
    cell.eval()
    state, right = torch.zeros(5, 8), 0
    for x, y in loader:
        state = cell(x, state)  # expect: TML201
        right += (head(state).argmax(1) == y).sum().item()
    return right
cell, head = nn.GRUCell(4, 8), nn.Linear(8, 3)
print(train(cell, head, sgd, data), evaluate(cell, head, data))
""",
    "a graph is retained, a graph of the gradients is made": """
def train(model, opt, loader):
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward(retain_graph=True)  # expect: TML109
        opt.step()
def scan(nets, x, y):
    for model in nets:
        F.cross_entropy(model(x), y).backward(create_graph=True)  # expect: TML109
        print(sum(p.grad.norm().item() for p in model.parameters()))
        model.zero_grad()
print(train(net, sgd, data), scan([net], *data[0]))
""",
    "an average of the weights with grad on": """
class Average:
    def __init__(self, model):
        self.kept = {n: p.detach().clone() for n, p in model.named_parameters()}
    def update(self, model):
        for n, p in model.named_parameters():
            self.kept[n] = 0.9 * self.kept[n] + 0.1 * p  # expect: TML108
average = Average(net)
for x, y in data:
    step(net, sgd, x, y)
    average.update(net)
""",
    "the best weights stay on the device, a checkpoint comes to it": """
import copy, io
def train(model, opt, loader, device):
    model.to(device)
    best, least = None, 1e9
    for x, y in loader:
        out = step(model, opt, x.to(device), y.to(device))
        if out.var().item() < least:
            least, best = out.var().item(), copy.deepcopy(model.state_dict())  # expect: TML503
    model.load_state_dict(best)
def resume(model, opt, file, device):
    model.to(device)
    state = torch.load(file)  # expect: TML601
    model.load_state_dict(state["model"])
    opt.load_state_dict(state["opt"])
device, file = torch.device("cuda" if torch.cuda.is_available() else "cpu"), io.BytesIO()
torch.save({"model": net.state_dict(), "opt": sgd.state_dict()}, file)
file.seek(0)
print(train(net, sgd, data, device), resume(net, sgd, file, device))
""",
    "out of memory is answered inside the handler": """
def train(model, opt, loader):
    for x, y in loader:
        try:
            step(model, opt, x, y)
        except torch.cuda.OutOfMemoryError:
            step(model, opt, x[:2], y[:2])  # expect: TML111
print(train(net, sgd, data))
""",
    "data sets that cache on the device, that hold Python objects": """
import os
class Cached(torch.utils.data.Dataset):
    def __init__(self, paths):
        self.paths, self.cache = paths, {}
    def __len__(self):
        return len(self.paths)
    def __getitem__(self, i):
        if i not in self.cache:
            self.cache[i] = torch.load(self.paths[i]).to("cuda")  # expect: TML603
        return self.cache[i]
class Rows(torch.utils.data.Dataset):
    def __init__(self, path):
        with open(path) as lines:
            self.rows = [line.split() for line in lines]  # expect: TML605
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        return torch.tensor([float(v) for v in self.rows[i]])
first = torch.utils.data.DataLoader(Cached([]), sampler=[], num_workers=1)
second = torch.utils.data.DataLoader(Rows(os.devnull), sampler=[], num_workers=1)
""",
    "copies: repeat, contiguous, clone before detach, a tensor of a tensor": """
def add(x, bias):
    return x + bias.unsqueeze(0).repeat(x.shape[0], 1)  # expect: TML306
def turned(x, w):
    return torch.matmul(x.transpose(1, 2).contiguous(), w)  # expect: TML302
def both(h):
    h = torch.relu(h)
    return h.contiguous().reshape(-1), h.clone().detach()  # expect: TML301, TML304
def copied(x):
    h = torch.relu(x)
    return torch.tensor(h)  # expect: TML305
x = torch.randn(4, 4)
print(add(x, x[0]).sum(), turned(x[None], x).sum(), len(both(x)), copied(x).sum())
""",
    "attention written out": """
def attend(q, k, v):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # expect: TML308
    return scores.softmax(-1) @ v
print(attend(torch.randn(2, 3, 8), torch.randn(2, 3, 8), torch.randn(2, 3, 8)).shape)
""",
    "a method with a cache": """
import functools
class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = nn.Linear(4, 4)
    @functools.lru_cache(maxsize=None)  # expect: TML405
    def row(self, n):
        return self.rows.weight[n]
print(Table().row(1).shape)
""",
    "gradients set to zero, the cache emptied in each step": """
def train(model, opt, loader):
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad(set_to_none=False)  # expect: TML501
        loss.backward()
        opt.step()
        torch.cuda.empty_cache()  # expect: TML404
print(train(net, sgd, data))
""",
}


@pytest.mark.parametrize("kind", UNCLAIMED)
def test_is_found(kind: str) -> None:
    assert missed(UNCLAIMED[kind]) == set()


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph", "ignore:To copy construct from a tensor")
@pytest.mark.parametrize("kind", UNCLAIMED)
def test_program_runs(kind: str) -> None:
    run(UNCLAIMED[kind])
