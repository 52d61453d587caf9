"""Safe fixes of the copy rules compute the same values, types, shapes, sharing of memory and gradients.

Each program is mended by the linter itself, safe fixes only; both texts then run on the same inputs: of no, one and
several dimensions, empty, transposed, sliced and expanded, in several types."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from linting import findings

from torchmemlint.api import fix_source
from torchmemlint.config import Config

HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"
PROGRAMS = {
    (
        "TML301",
        "fresh",
    ): "def f(x):\n    y = torch.exp(x * 2.0).sum(0, keepdim=True).clone(memory_format=torch.contiguous_format)\n"
    "    z = torch.zeros(3, 4)\n    return z.contiguous() + 1.0, y\n",
    ("TML301", "twice"): "def f(x):\n    return x.contiguous().contiguous()\n",
    (
        "TML301",
        "product",
    ): "def f(x):\n    y = torch.matmul(torch.ones(2, 3), torch.ones(3, 2)).contiguous()\n    return y, x\n",
    ("TML303", "to"): "def f(x):\n    return x.clone().to(torch.float64)\n",
    ("TML303", "to same type"): "def f(x):\n    return x.clone().to(x.dtype)\n",
    ("TML303", "float"): "def f(x):\n    return x.clone().float()\n",
    ("TML303", "cpu"): "def f(x):\n    return x.detach().clone().cpu()\n",
    ("TML303", "read"): "def f(x):\n    y = x.clone()\n    return y.clamp(-1, 1), y * 2\n",
    (
        "TML303",
        "read twice",
    ): "def f(x):\n    y = torch.clone(x) if False else x.clone()\n    return torch.exp(y) * y\n",
    ("TML303", "fresh"): "def f(x):\n    return (torch.sin(x) + 1).clone()\n",
    (
        "TML301",
        "like a dense one",
    ): "def f(x):\n    y = torch.zeros(3, 4)\n    return torch.ones_like(y).contiguous() + 1.0, x\n",
    (
        "TML301",
        "cloned into rows",
    ): "def f(x):\n    return x.clone(memory_format=torch.contiguous_format).contiguous()\n",
    (
        "TML301",
        "broadcast",
    ): "def f(x):\n    y = torch.zeros(3, 1) + torch.zeros(1, 4)\n    return y.contiguous() * 2.0, x\n",
    (
        "TML303",
        "broadcast",
    ): "def f(x):\n    other = torch.exp(x).unsqueeze(0).expand(2, *x.shape)\n"
    "    y = x.clone()\n    return y * other, y + 1\n",
    (
        "TML303",
        "behind a layer",
    ): "def f(x):\n    layer, act = torch.nn.Softmax(-1), torch.nn.ReLU(inplace=True)\n    y = x.clone()\n"
    "    return act(layer(x)) + y\n",
    (
        "TML303",
        "function",
    ): "def f(x):\n    y = torch.clone(x)\n    return torch.relu(y)\n",
    ("TML304", "function"): "def f(x):\n    return torch.clone(x).detach(), torch.detach(x.clone())\n",
    ("TML304", "order"): "def f(x):\n    return x.clone().detach()\n",
    ("TML305", "tensor"): "def f(x):\n    y = torch.relu(x)\n    return torch.tensor(y)\n",
    ("TML305", "as_tensor"): "def f(x):\n    y = torch.relu(x)\n    return torch.as_tensor(y).clone()\n",
    ("TML311", "softmax"): "def f(x):\n    return torch.softmax(x.float(), dim=-1)\n",
    ("TML311", "log_softmax"): "def f(x):\n    return F.log_softmax(x.to(torch.float32), -1)\n",
    ("TML311", "double"): "def f(x):\n    return x.double().softmax(dim=0)\n",
    ("TML311", "all"): "def f(x):\n    mask = (x > 0).unsqueeze(0)\n    return mask.sum() == mask.numel()\n",
    (
        "TML311",
        "any of pairs",
    ): "def f(x):\n    mask = x.unsqueeze(0) > x.unsqueeze(1)\n    return mask.sum() != 0\n",
    ("TML311", "any"): "def f(x):\n    mask = (x > 0).unsqueeze(0)\n    return mask.sum() > 0\n",
}
FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class Outcome:
    """What a program gave: its results and the gradient of its input."""

    results: tuple[torch.Tensor, ...]
    shared: tuple[bool, ...]  # does each result live in the input's memory?
    gradient: torch.Tensor | None


@cache
def programs(code: str, name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The program before and after its safe fix."""
    before = HEAD + PROGRAMS[code, name]
    after = fix_source(before, "program.py", Config(select=(code,), hints=True))
    assert after != before, "no safe fix was made"
    return compiled(before), compiled(after)


def compiled(text: str) -> Callable[..., Any]:
    space: dict[str, Any] = {}
    exec(compile(text, "program.py", "exec", dont_inherit=True), space)
    found: Callable[..., Any] = space["f"]
    return found


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    """A tensor of up to four dimensions, dense or a view with gaps, turned, both or expanded."""
    shape = draw(st.lists(st.integers(0, 4), min_size=0, max_size=4))
    dtype = draw(st.sampled_from(FLOATS))
    seed = draw(st.integers(0, 1000))
    base = torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)
    view = draw(st.sampled_from(["dense", "turned", "sliced", "expanded", "turned and sliced"]))
    if view == "turned" and base.dim() >= 2:
        return base.transpose(0, -1)
    if view == "turned and sliced" and base.dim() >= 2:
        return torch.cat([base, base], 0).transpose(0, -1)[..., ::2]
    if view == "sliced" and base.dim() >= 1:
        return torch.cat([base, base], -1)[..., ::2]
    if view == "expanded":
        return base.unsqueeze(0).expand(3, *base.shape)
    return base


def outcome(program: Callable[..., Any], x: torch.Tensor, differentiate: bool) -> Outcome:
    """Run the program on a tensor with the same strides as `x`; what is not differentiable has no gradient."""
    storage = x.untyped_storage().clone()
    mine = torch.empty(0, dtype=x.dtype).set_(storage, x.storage_offset(), x.size(), x.stride())
    mine.requires_grad_(differentiate)
    given_back = program(mine)
    results = given_back if isinstance(given_back, tuple) else (given_back,)
    shared = tuple(r.untyped_storage().data_ptr() == storage.data_ptr() and storage.nbytes() > 0 for r in results)
    total = [r.float().sum() for r in results if r.requires_grad]
    gradient = torch.autograd.grad(sum(total), mine, allow_unused=True)[0] if total else None
    return Outcome(tuple(r.detach() for r in results), shared, gradient)


def equal(a: torch.Tensor | None, b: torch.Tensor | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.nan_to_num(math.pi), b.nan_to_num(math.pi))


def steps(x: torch.Tensor) -> list[int]:
    """The strides that lead anywhere: along a dimension of one element none does."""
    return [step for step, size in zip(x.stride(), x.shape) if size > 1 and x.numel()]


def label(key: tuple[str, str]) -> str:
    return " ".join(key)


@pytest.mark.parametrize("key", PROGRAMS, ids=label)
@settings(max_examples=60, deadline=None)
@given(x=tensors(), differentiate=st.booleans())
def test_a_safe_fix_computes_the_same(key: tuple[str, str], x: torch.Tensor, differentiate: bool) -> None:
    before, after = programs(*key)
    try:
        expected = outcome(before, x, differentiate)
    except (RuntimeError, IndexError):
        with pytest.raises((RuntimeError, IndexError)):
            outcome(after, x, differentiate)
        return
    found = outcome(after, x, differentiate)
    assert [r.requires_grad for r in found.results] == [r.requires_grad for r in expected.results]
    assert all(equal(a, b) for a, b in zip(found.results, expected.results))
    assert found.shared == expected.shared
    assert [steps(r) for r in found.results] == [steps(r) for r in expected.results]
    assert equal(found.gradient, expected.gradient)


ELSEWHERE = {"TML601", "TML602"}  # proven with models and files, in test_loading_fixes.py
FIXTURES = Path(__file__).parent.parent / "fixtures"


def test_every_rule_with_a_safe_fix_is_proven() -> None:
    """Of the rules on copies, gradients, optimizers and loading, as far as their fixtures show."""
    found = set()
    for path in sorted(FIXTURES.glob("TML[356]*/*.py")):
        diagnostics = findings(path.read_text(encoding="utf-8"), path)
        found |= {d.code for d in diagnostics if d.fix is not None and d.fix.safe and d.code[3] in "356"}
    assert found == {code for code, _ in PROGRAMS} | ELSEWHERE


def test_the_proof_sees_a_difference() -> None:
    x = torch.ones(2)
    copied = outcome(lambda t: t.clone(), x, True)
    aliased = outcome(lambda t: t.view(-1), x, True)
    doubled = outcome(lambda t: t * 2, x, True)
    assert copied.shared != aliased.shared
    assert not equal(copied.results[0], doubled.results[0])
    assert not equal(copied.gradient, doubled.gradient)
