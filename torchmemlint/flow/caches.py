"""Functions whose results a decorator caches: what the cache is keyed by, what it keeps, how far it grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.frame import dotted
from torchmemlint.flow.values import Fact, Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

DECORATORS = {
    "functools.lru_cache": 128,
    "functools.cache": None,
    "cachetools.func.lru_cache": 128,
    "async_lru.alru_cache": 128,
    "methodtools.lru_cache": 128,
}  # and how many entries each keeps where it does not say
DATASETS = frozenset({"torch.utils.data.Dataset", "torch.utils.data.IterableDataset"})


@dataclass(frozen=True)
class Cached:
    """A cached function."""

    decorator: cst.Decorator
    entries: int | None  # at most; None: without bound
    of_module: bool  # a method of an nn.Module: the key holds the module
    of_dataset: bool
    modules: tuple[str, ...]  # parameters that are modules
    tensors: tuple[str, ...]  # parameters that are tensors
    returns: Kind | None  # TENSOR or MODULE where the result surely is or holds one


def cached(flow: FunctionFlow) -> Cached | None:
    """The cache around a function; None where no decorator is known to cache."""
    if isinstance(flow.node, cst.Module):
        return None
    for text, decorator in zip(flow.info.decorators, flow.node.decorators):
        if text in DECORATORS:
            return _described(flow, decorator, DECORATORS[text])
    return None


def _described(flow: FunctionFlow, decorator: cst.Decorator, entries: int | None) -> Cached:
    project, info = flow.program.project, flow.info
    owner = project.owner(info)
    bound = owner is not None and "staticmethod" not in info.decorators and "classmethod" not in info.decorators
    return Cached(
        decorator,
        _entries(decorator, entries),
        bound and owner is not None and project.is_module_class(owner) is Fact.YES,
        bound and owner is not None and not DATASETS.isdisjoint(project.external_bases(owner)),
        _parameters(flow, Kind.MODULE, bound),
        _parameters(flow, Kind.TENSOR, bound),
        _returned(flow.summary.value),
    )


def _entries(decorator: cst.Decorator, default: int | None) -> int | None:
    call = decorator.decorator
    if not isinstance(call, cst.Call):
        return default
    given = next((a.value for a in call.args if a.keyword is None or a.keyword.value == "maxsize"), None)
    if isinstance(given, cst.Integer):
        return int(given.value.replace("_", ""))
    return None if isinstance(given, cst.Name) and given.value == "None" else default


def _parameters(flow: FunctionFlow, kind: Kind, bound: bool) -> tuple[str, ...]:
    """The parameters of that kind, by annotation or by what is done with them."""
    found = []
    for op in flow.parameters[1 if bound else 0 :]:
        name = op.path or ""
        proven = flow.frame.evidence.get(name)
        used = any(
            user.receiver is not None
            and op in user.receiver.defs
            and user.receiver.kind is kind
            and dotted(user.receiver_node) == name
            for user in op.uses
            if user.receiver_node is not None
        )
        if op.value.kind is kind or proven is kind or used:
            found.append(name)
    return tuple(found)


def _returned(value: Value) -> Kind | None:
    if value.kind in (Kind.TENSOR, Kind.MODULE):
        return value.kind
    members = value.elements.values() if isinstance(value.elements, dict) else value.elements or ()
    kinds = [_returned(m) for m in members]
    return next((k for k in kinds if k is not None), None)
