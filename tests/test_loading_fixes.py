"""The fixes of the loading rules that are called safe: the mended program computes the same, in the same places."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from torchmemlint.api import fix_source
from torchmemlint.config import Config

HERE = Path(__file__)
LOAD = """
import torch
from torch import nn


def restore(model: nn.Module, file, device):
    model = model.to(device)
    model.load_state_dict(torch.load(file))
    return model
"""
RESUME = """
import torch
from torch import nn


def resume(model: nn.Module, file, device, batches):
    model = model.to(device)
    checkpoint = torch.load(file, map_location=device)
    model.load_state_dict(checkpoint["model"])
    start = checkpoint["step"]
    for x in batches[start:]:
        model(x.to(device)).square().sum().backward()
    return model, start
"""


def mended(text: str, code: str) -> str:
    """The text after the safe fixes of one rule."""
    return fix_source(text, str(HERE), Config(select=(code,), hints=True))


def function(text: str, name: str) -> Any:
    space: dict[str, Any] = {}
    exec(compile(text, "program", "exec"), space)
    return space[name]


def build(width: int, depth: int, dtype: torch.dtype, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    layers = [nn.Linear(width, width) for _ in range(depth)]
    return nn.Sequential(*layers, nn.BatchNorm1d(width)).to(dtype)


def saved(content: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(content, file)
    file.seek(0)
    return file


def same(a: nn.Module, b: nn.Module) -> bool:
    left, right = a.state_dict(), b.state_dict()
    return list(left) == list(right) and all(
        torch.equal(left[k], right[k]) and left[k].dtype == right[k].dtype and left[k].device == right[k].device
        for k in left
    )


def test_the_fixes_are_made() -> None:
    assert 'torch.load(file, map_location="cpu")' in mended(LOAD, "TML601")
    assert "    del checkpoint\n    for x" in mended(RESUME, "TML602")


@settings(max_examples=30, deadline=None)
@given(
    width=st.integers(0, 5),
    depth=st.integers(0, 3),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 1000),
)
def test_loading_to_the_cpu_restores_the_same_values(width: int, depth: int, dtype: torch.dtype, seed: int) -> None:
    source = build(width, depth, dtype, seed)
    results = []
    for text in (LOAD, mended(LOAD, "TML601")):
        model = build(width, depth, torch.float32, seed + 1)
        storages = [p.data_ptr() for p in model.parameters()]
        restored = function(text, "restore")(model, saved(source.state_dict()), "cpu")
        assert [p.data_ptr() for p in restored.parameters()] == storages, "the parameters are no longer the model's own"
        results.append(restored)
    assert same(*results)


@settings(max_examples=20, deadline=None)
@given(width=st.integers(1, 5), depth=st.integers(0, 3), seed=st.integers(0, 1000), start=st.integers(0, 3))
def test_deleting_the_checkpoint_keeps_the_run(width: int, depth: int, seed: int, start: int) -> None:
    source = build(width, depth, torch.float32, seed)
    batches = [torch.randn(4, width, generator=torch.Generator().manual_seed(i)) for i in range(4)]
    outcomes = []
    for text in (RESUME, mended(RESUME, "TML602")):
        file = saved({"model": source.state_dict(), "step": start})
        model, step = function(text, "resume")(build(width, depth, torch.float32, seed + 1), file, "cpu", batches)
        outcomes.append((model, step, [None if p.grad is None else p.grad.clone() for p in model.parameters()]))
    (one, first, before), (two, second, after) = outcomes
    assert same(one, two)
    assert first == second
    assert all(a is b or torch.equal(a, b) for a, b in zip(before, after))  # type: ignore[arg-type]
