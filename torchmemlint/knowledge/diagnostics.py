"""Calls that ask or steer the allocator, the profiler and the debuggers, by group."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from torchmemlint.knowledge.toml import read_toml


@cache
def _data() -> dict[str, Any]:
    return read_toml(Path(__file__).parent / "diagnostics.toml")


@cache
def _groups() -> dict[str, str]:
    return {name: group for group, names in _data()["groups"].items() for name in names}


def diagnostic(dotted: str) -> str | None:
    """The group of a library callable ("release", "peak", …); None for all others."""
    return _groups().get(dotted)


def renamed(dotted: str) -> str | None:
    """The name that replaced the last part of a library callable's name."""
    new: str | None = _data()["renamed"].get(dotted.rpartition(".")[2])
    return new if diagnostic(dotted) is not None else None


__all__ = ["diagnostic", "renamed"]
