"""Functions whose results a decorator caches: what the cache is keyed by, what it keeps, how far it grows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.emptied import emptying_functions
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Op, Store
from torchmemlint.flow.lean import walk
from torchmemlint.flow.values import Fact, Kind, Value, known_members

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
    kinds = [_returned(m) for m in known_members(value)]
    return next((k for k in kinds if k is not None), None)


# -- caches written by hand --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Memo:
    """A store into a dict that outlives the call, made where the key is not in it yet, and never taken out again."""

    op: Op
    name: str  # of the dict, as the user writes it
    by_identity: bool  # the key is the `id()` of an object: once the object is gone it never hits again


def memoised(flow: FunctionFlow) -> Iterator[Memo]:
    """The tensors that a function looks up in a dict of its object or of the module before it makes them."""
    if flow.info.name in ("", "__init__"):
        return
    for holder in flow.named("load"):
        for store in holder.stores:
            key = _key(store)
            if key is None or holder.path is None or not _is_tensor(store.value) or not _asked(flow, holder.path):
                continue
            names = {n.value for n in walk(key) if isinstance(n, cst.Name)} - {"self", "str", "id"}
            if names and emptying_functions(flow, holder.path.rpartition(".")[2]) == []:
                yield Memo(store.op, holder.path, _by_identity(flow, key))


def _key(store: Store) -> cst.BaseExpression | None:
    node = store.op.node
    if store.how != "setitem" or store.nested or not isinstance(node, cst.Subscript) or len(node.slice) != 1:
        return None
    index = node.slice[0].slice
    return index.value if isinstance(index, cst.Index) else None


def _is_tensor(value: Value) -> bool:
    if value.device == "cpu":
        return False
    return value.kind is Kind.TENSOR or value.kind is Kind.CONTAINER and any(map(_is_tensor, known_members(value)))


def _asked(flow: FunctionFlow, path: str) -> bool:
    """Does the function ask whether a key is in the dict: `key not in cache`, `cache.get(key)`?"""
    for node in walk(flow.node):
        asked: cst.BaseExpression | None = None
        if isinstance(node, cst.ComparisonTarget) and isinstance(node.operator, (cst.In, cst.NotIn)):
            asked = node.comparator
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "get":
            asked = node.func.value
        if asked is not None and dotted(asked) == path:
            return True
    return False


def _by_identity(flow: FunctionFlow, key: cst.BaseExpression) -> bool:
    """Is the key made of an object's `id()`, in place or in the name's only assignment?"""
    if isinstance(key, cst.Name):
        given = flow.assigned.get(key.value, [])
        key = given[0] if len(given) == 1 else key
    calls = (n for n in walk(key) if isinstance(n, cst.Call))
    return any(isinstance(n.func, cst.Name) and n.func.value == "id" for n in calls)
