"""What training code meets beside operators: optimizers' memory, gradients that must stay, readers of Python
objects."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from torchmemlint.knowledge.tables import data


@dataclass(frozen=True)
class OptimizerFact:
    """Memory of one optimizer of PyTorch, as multiples of its parameters."""

    name: str
    state: float  # kept from the first step on
    foreach: float  # temporaries of step() as CUDA runs it by default
    loop: float  # with foreach=False
    fused: float | None  # with fused=True; None: there is no fused kernel


def optimizer_fact(dotted: str) -> OptimizerFact | None:
    """The memory of a PyTorch optimizer class under any of its import paths; None: not measured."""
    if not dotted.startswith("torch.optim."):
        return None
    name = dotted.rpartition(".")[2]
    row = _table("optimizer").get(name)
    return None if row is None else OptimizerFact(name, row["state"], row["foreach"], row["loop"], row.get("fused"))


def temporaries_unless(name: str) -> dict[str, float]:
    """Arguments with which an optimizer that needs no temporaries does: argument -> parameter sets."""
    return dict(_table("optimizer_unless").get(name, {}))


@cache
def preallocating() -> frozenset[str]:
    """Names in a file which say that gradients are meant to stay allocated."""
    return frozenset(_table("preallocated")["names"])


def object_reader(dotted: str) -> str | None:
    """ "nested" or "flat" for a library function that reads samples into Python objects; None for any other."""
    return next((kind for kind, names in _table("object_readers").items() if dotted in names), None)


def _table(name: str) -> dict[str, dict]:  # type: ignore[type-arg]
    table: dict[str, dict] = data("training.toml")[name]  # type: ignore[type-arg]
    return table
