"""Distributions of `torch.distributions`: what they are made of, and what is drawn from them or asked of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchmemlint.flow.values import Fact, Kind, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    import libcst as cst

    from torchmemlint.flow.frame import Frame
    from torchmemlint.flow.graph import Argument

PREFIX = "torch.distributions."
DRAWN = frozenset({"sample", "sample_n"})  # without grad, whatever the parameters carry
ASKED = frozenset({"log_prob", "entropy", "rsample", "cdf", "icdf"})


def is_one(name: str | None) -> bool:
    """Is it the name of a distribution's class?"""
    return name is not None and name.startswith(PREFIX) and name.rpartition(".")[2][:1].isupper()


def make(f: Frame, node: cst.Call, name: str, args: Sequence[Argument]) -> Value:
    """A distribution holds its parameters with their graphs."""
    graph, params = f.derived([a.value for a in args])
    return f.op("?call", node, Value(graph=graph, params=params, name=name), arguments=args, callee=name).value


def method(f: Frame, node: cst.Call, name: str, base: Value, args: Sequence[Argument]) -> Value | None:
    """A sample has no graph, a log-probability that of the parameters and of the value; None for other methods."""
    if name in DRAWN:
        drawn = Value(kind=Kind.TENSOR, graph=Fact.NO)
        return f.op("?call", node, drawn, receiver=base, arguments=args, passes=False, callee=f"?.{PREFIX}{name}").value
    if name in ASKED:
        told = f.tensor([base, *(a.value for a in args)])
        return f.op("?call", node, told, receiver=base, arguments=args, callee=f"?.{PREFIX}{name}").value
    return None
