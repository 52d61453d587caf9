"""A constant that a forward builds becomes a buffer, where the class shows that the constructor can build it."""

from __future__ import annotations

import textwrap

import pytest
import torch

from torchmemlint.api import fix_source
from torchmemlint.config import Config

CLASS = """
import math

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, n, device=None):
        super().__init__()
        self.n = n
        self.device = device
        self.other, self.scale = n, 2.0
        if n > 3:
            self.sometimes = n
        self.again = n
        self.again = 2 * n
        self.proj = nn.Linear(n, n)

    def grow(self, taken):
        self.late = self.taken = taken

    def forward(self, x, n):
{body}
"""


def mended(body: str, *, text: str = CLASS) -> list[str]:
    """The lines of the program that mending makes, long ones in one."""
    old = text.replace("{body}", textwrap.indent(textwrap.dedent(body).strip(), " " * 8))
    new = fix_source(old, "layer.py", Config(select=("TML314",), unsafe_fixes=True))
    assert fix_source(new, "layer.py", Config(select=("TML314",), unsafe_fixes=True)) == new
    compile(new, "layer.py", "exec")
    lines = [line.strip() for line in new.splitlines() if line not in old.splitlines()]
    if lines[1:2] and lines[0].endswith("("):
        lines[:3] = ["".join(lines[:3])]
    return lines


def registered(name: str, text: str) -> str:
    return f'self.register_buffer("{name}", {text}, persistent=False)'


@pytest.mark.parametrize(
    ("body", "made", "read"),
    [
        (
            "mask = torch.ones(self.n, self.n).tril()\nreturn x * mask",
            registered("mask", "torch.ones(self.n, self.n).tril()"),
            "mask = self.mask",
        ),
        (
            "mask = torch.tril(torch.ones(self.n, self.n)).view(1, self.n, -1)  # causal\nreturn x * mask",
            registered("mask", "torch.tril(torch.ones(self.n, self.n)).view(1, self.n, -1)"),
            "mask = self.mask  # causal",
        ),
        (
            "return self.proj(torch.eye(self.other, device=x.device))",
            registered("identity", "torch.eye(self.other)"),
            "return self.proj(self.identity)",
        ),
        (
            "proj = torch.eye(4, device=self.device)\nreturn x @ proj",
            registered("proj_constant", "torch.eye(4, device=self.device)"),
            "proj = self.proj_constant",
        ),
        (
            "taken = torch.arange(self.n)\nreturn x[taken]",
            registered("taken_constant", "torch.arange(self.n)"),
            "taken = self.taken_constant",
        ),
        (
            "type = torch.tensor([[1.0, math.pi], [0.5, 2.0]])\nreturn x @ type",
            registered("type_constant", "torch.tensor([[1.0, math.pi], [0.5, 2.0]])"),
            "type = self.type_constant",
        ),
    ],
)
def test_a_constant_is_registered_where_its_parts_are_there(body: str, made: str, read: str) -> None:
    assert mended(body) == [made, read]


@pytest.mark.parametrize(
    "body",
    [
        "mask = torch.eye(self.sometimes)\nreturn x @ mask",
        "mask = torch.eye(self.again)\nreturn x @ mask",
        "mask = torch.eye(self.late)\nreturn x @ mask",
        "mask = torch.eye(n)\nreturn x @ mask",
        "mask = torch.eye(4, dtype=x.dtype)\nreturn x @ mask",
        "mask = torch.eye(4)\nmask[0] = 1\nreturn x @ mask",
        "mask = torch.eye(4)\nmask *= 2\nreturn x @ mask",
        "mask = torch.eye(4).view(2, 8)\nmask.mul_(2)\nreturn x @ mask",
        "mask = torch.eye(4, requires_grad=True)\nreturn x @ mask",
        "mask = torch.eye(4, **self.how)\nreturn x @ mask",
        "math = torch.tensor([[math.pi, 1.0]])\nreturn x @ math",
        "mask = torch.eye(\n    4,  # corners\n    device=x.device,\n)\nreturn x @ mask",
    ],
)
def test_what_the_constructor_cannot_build_stays(body: str) -> None:
    assert mended(body) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(nn.Module)", "(Base)"),
        ("        super().__init__()\n", ""),
        ("        super().__init__()\n", "        if n:\n            super().__init__()\n"),
        (
            "    def __init__(self, n, device=None):\n        super().__init__()\n",
            "    def build(self, n, device=None):\n",
        ),
        ("def __init__(self, n", "def __init__(this, n"),
        ("        self.n = n\n", "        self.n = n; self.m = n\n"),
        ("        self.n = n\n", "        self.n = n\n        del self.n\n"),
    ],
)
def test_a_class_of_another_make_stays(old: str, new: str) -> None:
    body = "mask = torch.eye(self.n)\nreturn x @ mask"
    assert len(mended(body)) == 2
    assert mended(body, text=CLASS.replace(old, new)) == []


def test_the_mended_module_computes_the_same() -> None:
    body = "mask = torch.tril(torch.ones(self.n, self.n, device=x.device))\nreturn self.proj(x) * mask"
    old = CLASS.replace("{body}", textwrap.indent(body, " " * 8))
    new = fix_source(old, "layer.py", Config(select=("TML314",), unsafe_fixes=True))
    results, states = [], []
    for text in (old, new):
        space: dict[str, type[torch.nn.Module]] = {}
        exec(compile(text, "layer.py", "exec"), space)
        torch.manual_seed(0)
        layer = space["Layer"](4)
        results.append(layer(torch.ones(4, 4), 0))
        states.append(list(layer.state_dict()))
    assert torch.equal(*results)
    assert states[0] == states[1]
