"""Runs a fixture's function on the CPU tracker and judges its claim."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from tracker import Tracker, Usage

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Run:
    """What one variant returned and used."""

    value: Any
    usage: Usage


def load(path: Path, text: str | None = None) -> ModuleType:
    """A fresh module from a file, or from another text under its name: state of earlier runs is not shared."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    exec(compile(path.read_text(encoding="utf-8") if text is None else text, str(path), "exec"), module.__dict__)
    return module


def run(module: ModuleType, variant: str) -> Run:
    """Run `bad` or `good` under the tracker."""
    with warnings.catch_warnings(), Tracker() as tracker:
        warnings.simplefilter("ignore")
        value = getattr(module, variant)(tracker.device, tracker.probe)
    return Run(value, tracker.usage)


def same(a: Any, b: Any) -> bool:
    """Equal results, up to the order in which floats were added."""
    return torch.allclose(torch.as_tensor(a, dtype=torch.float64), torch.as_tensor(b, dtype=torch.float64), 1e-4, 1e-6)


def shows(effect: str, bad: Usage, good: Usage) -> bool:
    """Does `bad` use the memory that `effect` claims, measured against `good`?"""
    if effect == "grows":
        return bad.slope >= 4 * max(good.slope, 0) + 256 * KIB
    if effect == "peak":
        return bad.peak >= 1.2 * good.peak and bad.peak >= good.peak + MIB
    if effect == "held":
        return bad.held >= 1.2 * good.held and bad.held >= good.held + MIB
    if effect == "copies":
        return bad.allocated >= good.allocated + MIB
    if effect == "none":
        return _equal(bad, good)
    raise ValueError(f"no such effect: {effect}")


def cured(effect: str, bad: Usage, fixed: Usage, good: Usage) -> bool:
    """Does `fixed` give back at least nine tenths of what `bad` wastes, in the measure of `effect`?"""
    if effect == "none":
        return _equal(fixed, good)
    measure = {"grows": "slope", "peak": "peak", "held": "held", "copies": "allocated"}[effect]
    worst, ours, best = (float(getattr(usage, measure)) for usage in (bad, fixed, good))
    return ours - best <= 0.1 * max(worst - best, 0) + 16 * KIB


def _equal(a: Usage, b: Usage) -> bool:
    pairs = [(a.peak, b.peak), (a.held, b.held), (a.allocated, b.allocated)]
    return all(abs(x - y) <= 0.02 * max(x, y) for x, y in pairs) and abs(a.slope - b.slope) < 64 * KIB
