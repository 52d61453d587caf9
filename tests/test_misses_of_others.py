"""What other linters for PyTorch miss, kind by kind: each program holds memory, and each is found at the marked line.

The key names the reason: attributes, keys, returns, helpers, expressions and guards that are not followed."""

from __future__ import annotations

import pytest
from training import missed, run

MISSES = {
    "a computed return: the mean of the losses": """
def evaluate(model, loader):
    model.eval()
    losses = []
    for x, y in loader:
        losses.append(F.cross_entropy(model(x), y))  # expect: TML101
    return sum(losses) / len(losses)
print(float(evaluate(net, data)))
""",
    "a computed return: the outputs joined": """
def predict(model, loader):
    model.eval()
    outs = []
    for x, _ in loader:
        outs.append(model(x))  # expect: TML101
    return torch.cat(outs)
print(predict(net, data).argmax(1).tolist())
""",
    "the model is an attribute": """
class Trainer:
    def __init__(self, model, opt):
        self.model, self.opt, self.seen = model, opt, []
    def run(self, loader):
        for x, y in loader:
            out = step(self.model, self.opt, x, y)
            self.seen.append(self.model(x).softmax(1))  # expect: TML101
        return len(self.seen)
print(Trainer(net, sgd).run(data))
""",
    "a submodule made in the constructor, used in forward": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(4, 8)
    def forward(self, x):
        h = self.backbone(x)
        self.kept = h  # expect: TML103
        return h.mean()
print(Net()(torch.randn(2, 4)).item())
""",
    "the container is a member: by key": """
def train(model, opt, loader):
    m = {"spread": []}
    for x, y in loader:
        out = step(model, opt, x, y)
        m["spread"].append(out.var())  # expect: TML101
    return [float(v) for v in m["spread"]]
print(train(net, sgd, data))
""",
    "the container is a member: by variable and by setdefault": """
def train(model, opt, loader):
    table, other = {0: [], 1: []}, {}
    for k, (x, y) in enumerate(loader):
        out = step(model, opt, x, y)
        table[k].append(out.var())  # expect: TML101
        other.setdefault(k, []).append(out.var())  # expect: TML101
    return [float(v) for v in table[0] + other[0]]
print(train(net, sgd, data))
""",
    "appendleft, update, put and heappush store too": """
import heapq, queue
def train(model, opt, loader):
    left, named, line, heap = deque(), {}, queue.Queue(), []
    for k, (x, y) in enumerate(loader):
        out = step(model, opt, x, y)
        left.appendleft(out.var())  # expect: TML101
        named.update({k: out.var()})  # expect: TML101
        line.put_nowait(out.var())  # expect: TML101
        heapq.heappush(heap, (k, out.var()))  # expect: TML101
    return len(left) + len(named) + line.qsize() + len(heap)
print(train(net, sgd, data))
""",
    "a total by plain assignment, a bank that is joined": """
def train(model, opt, loader):
    s, bank = 0.0, torch.zeros(0, 3)
    for x, y in loader:
        out = step(model, opt, x, y)
        s = 0.98 * s + 0.02 * out.var()  # expect: TML102
        bank = torch.cat([bank, out.softmax(1)])  # expect: TML102
    return float(s) + float(bank.sum())
print(train(net, sgd, data))
""",
    "an assignment within the call": """
def train(model, opt, loader):
    kept = []
    for x, y in loader:
        step(model, opt, x, y)
        kept.append((out := model(x)))  # expect: TML101
        print(out.argmax(1).tolist())
    return len(kept)
print(train(net, sgd, data))
""",
    "a closure's list, a module's list": """
seen = []
def train(model, opt, loader):
    kept = []
    def keep(value):
        kept.append(value)  # expect: TML101
    for x, y in loader:
        out = step(model, opt, x, y)
        keep(out.var())
        seen.append(out.var())  # expect: TML104
    return len(kept)
print(train(net, sgd, data), len(seen))
""",
    "a helper fills the list, a helper gives the tensor": """
def fill(rows, value):
    rows.append(value)
def margin(out):
    return out.softmax(1).amax(1).mean()
def train(model, opt, loader):
    rows, own = [], []
    for x, y in loader:
        out = step(model, opt, x, y)
        fill(rows, out.var())  # expect: TML101
        own.append(margin(out))  # expect: TML101
    return [float(r) for r in rows + own]
print(train(net, sgd, data))
""",
    "a meter": """
class Meter:
    def __init__(self):
        self.total, self.n = 0.0, 0
    def update(self, value):
        self.total += value
        self.n += 1
def train(model, opt, loader):
    meter = Meter()
    for x, y in loader:
        out = step(model, opt, x, y)
        meter.update(out.var())  # expect: TML102
    return float(meter.total) / meter.n
print(train(net, sgd, data))
""",
    "detached later under the same name": """
def train(model, opt, loader):
    kept = []
    for x, y in loader:
        out = step(model, opt, x, y)
        kept.append(out)  # expect: TML101
        out = out.detach()
        print(out.mean().item())
    return len(kept)
print(train(net, sgd, data))
""",
    "a formatted key, a container with an unlucky name": """
def train(model, opt, loader):
    cache, targs = {}, []
    for b, (x, y) in enumerate(loader):
        out = step(model, opt, x, y)
        cache[f"b{b}"] = out.var()  # expect: TML101
        targs.append(out.var())  # expect: TML101
    return len(cache) + len(targs)
print(train(net, sgd, data))
""",
    "outputs pile up on the device without grad": """
@torch.no_grad()
def predict(model, loader, device):
    model.eval().to(device)
    outs = []
    for x, _ in loader:
        outs.append(model(x.to(device)).softmax(1))  # expect: TML401
    return torch.cat(outs).cpu().numpy()
print(predict(net, data, torch.device("cuda" if torch.cuda.is_available() else "cpu")).shape)
""",
    "eval mode is set by the caller": """
def count(model, loader):
    right = 0
    for x, y in loader:
        right += (model(x).argmax(1) == y).sum().item()  # expect: TML201
    return right
net.eval()
print(count(net, data))
""",
    "the model has another name": """
class Cutter:
    def __init__(self, segmenter):
        self.segmenter = segmenter.eval()
    def cut(self, x):
        return self.segmenter(x).argmax(1).tolist()  # expect: TML201
def label(lm, loader):
    lm.eval()
    return [lm(x).argmax(1).tolist() for x, _ in loader]  # expect: TML201
print(Cutter(net).cut(data[0][0]), label(net, data))
""",
    "a teacher, a target network, a generator in the critic's step": """
import copy
def train(model, teacher, generator, critic, opt, loader):
    target = copy.deepcopy(model)
    for x, y in loader:
        soft = teacher(x)  # expect: TML203
        later = target(x)  # expect: TML203
        loss = F.kl_div(model(x).log_softmax(1), soft.detach().softmax(1)) + F.mse_loss(model(x), later.detach())
        fake = generator(torch.randn(5, 4))  # expect: TML203
        loss = loss + critic(fake.detach()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
print(train(net, nn.Linear(4, 3), nn.Linear(4, 4), nn.Linear(4, 1), sgd, data))
""",
    "no_grad on a coroutine": """
@torch.no_grad()  # expect: TML202
async def serve(model, x):
    return model(x).argmax(1).tolist()
import asyncio
print(asyncio.run(serve(net.eval(), torch.randn(2, 4))))
""",
    "enable_grad inside no_grad": """
def collect(model, loader):
    model.eval()
    outs = []
    with torch.no_grad():
        for x, _ in loader:
            with torch.enable_grad():
                outs.append(model(x))  # expect: TML101
    return [o.argmax(1).tolist() for o in outs]
print(collect(net, data))
""",
    "a function defined in a no_grad block": """
def make(model):
    model.eval()
    with torch.no_grad():
        def predict(x):
            return model(x).argmax(1).tolist()  # expect: TML201
    return predict
print(make(net)(torch.randn(2, 4)))
""",
    "a no_grad of somebody else": """
class Session:
    def no_grad(self):
        return __import__("contextlib").nullcontext()
def label(session, model, x):
    model.eval()
    with session.no_grad():
        return model(x).argmax(1).tolist()  # expect: TML201
print(label(Session(), net, torch.randn(2, 4)))
""",
    "a function's backward keeps its inputs on ctx": """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x  # expect: TML110
        return x * x
    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.x * g
print(Square.apply(torch.randn(3, requires_grad=True)).sum().item())
""",
    "stored in a tuple, a list, a dict": """
def train(model, opt, loader):
    pairs, rows, more, named = [], [], [], []
    for k, (x, y) in enumerate(loader):
        out = step(model, opt, x, y)
        pairs.append((k, out.var()))  # expect: TML101
        rows.extend([out.var()])  # expect: TML101
        more += [out.var()]  # expect: TML101
        named.append({"step": k, "spread": out.var()})  # expect: TML101
    return len(pairs) + len(rows) + len(more) + len(named)
print(train(net, sgd, data))
""",
    "a comprehension of a dict, a star, a value yielded before": """
def outputs(model, opt, loader):
    for x, y in loader:
        yield step(model, opt, x, y)
def train(model, opt, loader):
    named, rows, kept = [], [], []
    for out in outputs(model, opt, loader):
        named.append({k: row for k, row in enumerate(out)})  # expect: TML101
        rows.append([*out.unbind(0), 1])  # expect: TML101
        kept.append(out.var())  # expect: TML101
    return len(named) + len(rows) + len(kept)
print(train(net, sgd, data))
""",
    "setdefault stores, containers called by patterns and configurations": """
def train(model, opt, loader):
    first, patterns, config_outs = {}, [], []
    for k, (x, y) in enumerate(loader):
        out = step(model, opt, x, y)
        first.setdefault(k, out.var())  # expect: TML101
        patterns.append(out.var())  # expect: TML101
        config_outs.append(out.var())  # expect: TML101
    return len(first) + len(patterns) + len(config_outs)
print(train(net, sgd, data))
""",
    "a total grows once per call": """
class Trainer:
    def __init__(self, model, opt):
        self.model, self.opt, self.total = model, opt, 0.0
    def one(self, x, y):
        out = step(self.model, self.opt, x, y)
        self.total += out.var()  # expect: TML102
t = Trainer(net, sgd)
for x, y in data:
    t.one(x, y)
print(float(t.total))
""",
}


@pytest.mark.parametrize("kind", MISSES)
def test_is_found(kind: str) -> None:
    assert missed(MISSES[kind]) == set()


@pytest.mark.parametrize("kind", MISSES)
def test_program_runs(kind: str) -> None:
    run(MISSES[kind])
