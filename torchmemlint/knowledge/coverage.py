"""How much of the installed torch the tables know: the figures of docs/knowledge.md.

Run with torch installed: `python -m torchmemlint.knowledge.coverage` prints the section."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from torchmemlint.knowledge import canonical, module_fact, operator, role
from torchmemlint.knowledge.generate import TABLE, release


def public_callables(space: Any) -> list[str]:
    """Names of a namespace's public functions, classes apart."""
    names = (n for n in dir(space) if not n.startswith("_"))
    return [n for n in names if callable(getattr(space, n)) and not isinstance(getattr(space, n), type)]


def subclasses(space: Any, base: type) -> list[str]:
    """Names of a namespace's public classes that derive from `base`."""
    found = ((n, getattr(space, n)) for n in dir(space) if not n.startswith("_"))
    return [n for n, c in found if isinstance(c, type) and issubclass(c, base)]


def namespaces() -> Iterator[tuple[str, list[str], list[str]]]:
    """(what, all names, those that the tables don't know)."""
    import torch
    import torch.nn.functional as functional

    members = [m for m in dir(torch.Tensor) if not m.startswith("_")]
    yield "methods and properties of `torch.Tensor`", members, [m for m in members if operator(m) is None]
    spaces = {"torch": torch, "torch.nn.functional": functional, "torch.linalg": torch.linalg}
    for prefix, space in {**spaces, "torch.fft": torch.fft, "torch.special": torch.special}.items():
        names = public_callables(space)
        unknown = [n for n in names if canonical(f"{prefix}.{n}") is None and role(f"{prefix}.{n}") is None]
        yield f"functions of `{prefix}`", names, unknown
    modules = subclasses(torch.nn, torch.nn.Module)
    yield "modules of `torch.nn`", modules, [n for n in modules if module_fact(f"torch.nn.{n}") is None]
    optimizers = subclasses(torch.optim, torch.optim.Optimizer)
    yield "optimizers of `torch.optim`", optimizers, [n for n in optimizers if role(f"torch.optim.{n}") != "optimizer"]


def listed(names: Iterable[str]) -> str:
    """The names as code, or "none"."""
    return ", ".join(f"`{n}`" for n in names) or "none"


def section() -> str:
    """The figures and what is unknown, as Markdown."""
    rows, gaps = [], []
    for what, names, unknown in namespaces():
        rows.append(f"| {what} | {len(names) - len(unknown)} of {len(names)} |")
        if unknown:
            gaps.append(f"- {what}: {listed(unknown)}")
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    facts = [f for f in map(operator, table) if f is not None and f.differentiable and f.kind in ("fresh", "inplace")]
    unsure = [f.name for f in facts if "unknown" in f.saves]
    layouts = [f.name for f in map(operator, table) if f is not None and f.layout == "unknown"]
    rows.append(f"| what a differentiable operator keeps for backward | {len(facts) - len(unsure)} of {len(facts)} |")
    single = [n for n in unsure if not n.startswith("_foreach_")]
    gaps.append(f"- what they keep for backward: all of `torch._foreach_…`, {listed(single)}")
    gaps.append(f"- the layout of the result: {listed(layouts)}")
    head = f"Against torch {release()}, {len(table)} operators:\n\n| | known |\n|---|---|\n"
    return head + "\n".join(rows) + "\n\nNot known:\n\n" + "\n".join(gaps) + "\n"


if __name__ == "__main__":
    sys.stdout.write(section())
