"""Makes synthetic projects whose size and shape are dialled: modules that import and call each other, in cycles.

    python benchmarks/synthetic.py FOLDER --modules 100 [--functions 4] [--depth 0] [--cycle 0] [--findings 1]

The text of a project depends on its shape alone, so counts of work over it can be compared between runs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

RING = 7  # modules that import each other in a circle: m0 -> m1 -> ... -> m6 -> m0
HEAD = '''"""Module {i} of a synthetic project."""

import torch
from torch import nn

from pkg import m{next}
from pkg.m{next} import Net as Neighbour, helper0 as helped

'''
NET = '''
class Net(nn.Module):
    """Half of the modules inherit from their neighbour's half."""

    def __init__(self, width=8):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, 1)
        self.other = None

    def widen(self):
        self.other = Neighbour(16)
        return self.other

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        return self.second(helper0(hidden))


class Meter:
    def __init__(self):
        self.total, self.count, self.kept = 0.0, 0, []

    def update(self, value, count=1):
        self.total += value * count
        self.count += count

    def mean(self):
        return self.total / max(self.count, 1)

'''
HELPER = '''
def helper{k}(x, scale=1.0):
    """Calls the neighbour's on some ways, which closes circles over the ring."""
    y = torch.tanh(x) * scale
    if scale > {k}:
        y = {call}
    rows = []
    for row in y:
        rows.append(row + {k})
    return torch.stack(rows)

'''
TRAIN = """
def train(loader, epochs=3):
    net, meter = Net(), Meter()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = ((helped(net(x)) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            meter.update(loss.item())
    return meter.mean()

"""
FINDING = """
def history{k}(loader):
    net, kept = Net(), []
    for x, y in loader:
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        out = net(x)
        kept.append(out)
    print(len(kept))

"""
LINK = '''
def link{j}(x):
    """Link {j} of a chain of calls."""
    y = torch.relu(x) + {j}
    return {call}

'''


@dataclass(frozen=True)
class Shape:
    """How a project looks. `depth`: links of one chain of calls through the modules, each called by the one before.
    `cycle`: functions that call each other round in one circle. `findings`: planted a module."""

    modules: int = 100
    functions: int = 4
    depth: int = 0
    cycle: int = 0
    findings: int = 1


def write(folder: Path, shape: Shape) -> int:
    """Write the project as the package `pkg` in a folder; the number of its lines."""
    package = folder / "pkg"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    total = 0
    for i in range(shape.modules):
        text = module(i, shape)
        total += text.count("\n")
        (package / f"m{i}.py").write_text(text, encoding="utf-8")
    return total


def module(i: int, shape: Shape) -> str:
    """The text of module `i`."""
    parts = [HEAD.format(i=i, next=neighbour(i, shape.modules)), NET]
    for k in range(shape.functions):
        call = f"m{neighbour(i, shape.modules)}.helper{k}(y, scale - 1)" if k % 2 == 0 else f"helper{k - 1}(y, scale)"
        parts.append(HELPER.format(k=k, call=call))
    parts.append(TRAIN)
    parts += [FINDING.format(k=k) for k in range(shape.findings)]
    parts += _chain("link", i, shape.modules, shape.depth, "y")
    parts += _chain("round", i, shape.modules, shape.cycle, "round0(y)")
    return "".join(parts)


def neighbour(i: int, modules: int) -> int:
    """The module that module `i` imports: the next of its ring."""
    start = i - i % RING
    size = min(RING, modules - start)
    return start + (i - start + 1) % size


def _chain(name: str, i: int, modules: int, length: int, end: str) -> Iterator[str]:
    """Module `i`'s links of a chain dealt out over all modules; each imports the next where it is called."""
    for j in range(i, length, modules):
        there = (j + 1) % modules
        call = f"m{there}.{name}{j + 1}(y)"
        if j + 1 == length:
            there, call = 0, "y" if end == "y" else f"m0.{end}"
        body = LINK.format(j=j, call=call).replace("def link", f"def {name}", 1)
        yield body.replace("    y = ", f"    from pkg import m{there}\n\n    y = ", 1)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a synthetic project.")
    parser.add_argument("folder", type=Path)
    for name in ("modules", "functions", "depth", "cycle", "findings"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Shape(), name))
    arguments = vars(parser.parse_args())
    print(write(arguments.pop("folder"), Shape(**arguments)), "lines")


if __name__ == "__main__":
    main()
