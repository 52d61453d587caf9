"""Constants that a forward pass builds: of a size that no input decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Op
from torchmemlint.flow.layout import sizes
from torchmemlint.flow.lean import same_code
from torchmemlint.flow.patterns import bare, maker, number
from torchmemlint.flow.tensors import dtype_of
from torchmemlint.flow.values import Fact, Kind

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

FILLED = frozenset({"ones", "full", "zeros", "eye", "arange", "linspace", "logspace"})


def in_forward(flow: FunctionFlow, depth: int = 2) -> bool:
    """Is the function the forward of an nn.Module, or a method that only forwards of its class call?"""
    owner = flow.program.project.owner(flow.info)
    if owner is None or flow.program.project.is_module_class(owner) is not Fact.YES:
        return False
    if flow.info.name == "forward" or depth == 0 or flow.info.name.startswith("__"):
        return flow.info.name == "forward"
    sites = flow.program.callers.sites(flow.info).calls
    return bool(sites) and all(in_forward(site.flow, depth - 1) for site in sites)


def fixed_size(flow: FunctionFlow, factory: Op) -> bool:
    """Are all sizes given to a factory literals or attributes of self?"""
    if bare(factory) not in FILLED:
        return False
    plain = [a for a in factory.arguments if a.name is None]
    given = sizes(plain) or [a.node for a in plain]  # `arange(self.n, device=…)`
    return bool(given) and all(_fixed(flow, node) for node in given)


def _fixed(flow: FunctionFlow, node: cst.BaseExpression | cst.StarredElement) -> bool:
    if number(node) is not None:
        return True
    path = dotted(node) if isinstance(node, cst.BaseExpression) else None
    own = flow.info.parameters[0].name if flow.info.parameters else ""
    if path is None or not path.startswith(own + "."):
        return False
    loads = [op for op in flow.named("load") if op.path == path]
    return all(op.value.kind in (Kind.UNKNOWN, Kind.HOST) and not op.stores for op in loads)


def square_mask(op: Op) -> bool:
    """Is it the triangle of a square tensor of ones, in floats?"""
    if bare(op) not in ("tril", "triu"):
        return False
    made = maker(op.receiver) if op.receiver is not None else None
    if made is None or bare(made) not in ("ones", "full") or dtype_of(made.arguments) is not None:
        return False
    given = sizes([a for a in made.arguments if a.name is None])
    if given is None or len(given) != 2 or number(given[0]) == 1:
        return False
    first, second = given
    return same_code(first, second)
