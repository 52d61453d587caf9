"""Short programs about one small model that is trained: what they begin with, and what is asked of each."""

from __future__ import annotations

from pathlib import Path

from linting import findings
from markers import parse

from torchmemlint.findings import Diagnostic

PRELUDE = """import torch
import torch.nn.functional as F
from torch import nn
from collections import deque

def step(model, opt, x, y):
    out = model(x)
    loss = F.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return out

net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
sgd = torch.optim.SGD(net.parameters(), lr=0.1)
data = [(torch.randn(5, 4), torch.arange(5) % 3)] * 2

"""


def found(program: str, *, hints: bool = True) -> list[Diagnostic]:
    """The findings in a program."""
    return findings(PRELUDE + program, Path("program.py"), hints=hints)


def missed(program: str) -> set[tuple[int, str]]:
    """The marks of a program, of which there are some, at which nothing is found."""
    expected = parse(PRELUDE + program).expected
    assert expected
    return set(expected) - {(d.row, d.code) for d in found(program)}


def run(program: str) -> None:
    """Run it as the main module would be, under another name."""
    exec(compile(PRELUDE + program, "program.py", "exec"), {"__name__": "program"})
