"""What PyTorch, its frameworks and Python's containers do, as answers to questions; the facts are the data files.

Each file is read once, when it is first asked for. Nothing here imports torch."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from torchmemlint.knowledge.toml import read_toml

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class OpFact:
    """What a tensor operator does.

    `kind`: "view" (shares storage), "maybe_view" (may return its input or a view of it), "fresh" (new storage),
    "inplace" (writes and returns its receiver), "host" (returns no tensor).
    `differentiable`: can the result require grad; `outputs`: the same for each result where they differ (of `max`,
    `sort`: with a `dim`), else one entry.
    `saves`: operands and results ("self", "other", "result", "result1") whose storage some overload keeps for backward.
    `layout` of the result: "contiguous" always; "preserve": contiguous if every tensor operand is, else unknown;
    "same": as the receiver; "strided": not contiguous unless dimensions are of size 1; "sliced": contiguous only if
    the operand is and dimension 0 was sliced; "unknown".
    `dtype`: "bool" or "int" where every result is, else None.
    """

    name: str
    kind: str
    differentiable: bool
    outputs: tuple[bool, ...]
    saves: tuple[str, ...]
    layout: str
    dtype: str | None


@dataclass(frozen=True, slots=True)
class ModuleFact:
    """What is known of an nn.Module class.

    `parameters`: "yes" | "no" | "maybe", for the default arguments; `unless`: the argument that, given otherwise than
    by default (`affine=False`), changes the answer; `keeps_buffer`: a loss whose scalar result stays on the storage of
    the whole elementwise buffer."""

    name: str
    parameters: str
    is_loss: bool = False
    keeps_buffer: bool = False
    is_container: bool = False
    unless: str | None = None


@dataclass(frozen=True, slots=True)
class ContainerFact:
    """What a method of a Python container does with its arguments.

    `stores`: position of the stored argument; `elements`: its elements are stored, not itself; `reads`: the result
    holds what the container holds; `clears`: it is empty afterwards; `holder`: for functions (`heappush(heap, x)`) the
    position of the container, for methods None."""

    name: str
    stores: int | None = None
    elements: bool = False
    reads: bool = False
    clears: bool = False
    holder: int | None = None


@cache
def data(file: str) -> dict[str, Any]:
    """What a file of this folder holds."""
    path = HERE / file
    if path.suffix == ".json":
        return dict(json.loads(path.read_text(encoding="utf-8")))
    return read_toml(path)


_SPECIAL = re.compile(r"[*?\[]")


class Names:
    """Names and shell patterns to one value each; the exact name wins, then the first pattern that matches."""

    def __init__(self, groups: Iterable[tuple[Any, Iterable[str]]]) -> None:
        self.exact: dict[str, Any] = {}
        self.patterns: list[tuple[str, str, Any]] = []  # what the name must start with, the pattern, the value
        for value, names in groups:
            for name in names:
                if _SPECIAL.search(name):
                    self.patterns.append((_SPECIAL.split(name, maxsplit=1)[0], name, value))
                else:
                    self.exact.setdefault(name, value)

    def get(self, name: str) -> Any:
        """The name's value, or None."""
        if name in self.exact:
            return self.exact[name]
        candidates = (p for p in self.patterns if name.startswith(p[0]))
        return next((value for _, pattern, value in candidates if fnmatch.fnmatchcase(name, pattern)), None)


# --- operators ---------------------------------------------------------------------------------------------------


@cache
def operator(name: str) -> OpFact | None:
    """The facts of an operator or Tensor method by its bare name ("cat", "softmax", "linalg.svd"); None: not one."""
    record = data("ops.json").get(name)
    if record is None:
        return None
    kind = record.get("kind", "fresh")
    differentiable = kind != "host" and record.get("diff", True)
    outputs = tuple(record.get("outputs", (differentiable,)))
    layout = record.get("layout", "preserve")
    return OpFact(name, kind, differentiable, outputs, tuple(record.get("saves", ())), layout, record.get("dtype"))


@cache
def _tensor_members() -> frozenset[str]:
    return frozenset(data("tensor_members.json")["members"])


def tensor_method(name: str) -> bool:
    """Is it a public method or property of torch.Tensor?"""
    return name in _tensor_members()


# Longest first; what is left after a prefix is the bare name.
_PREFIXES = (
    "torch.nn.functional.",
    "torch._C._nn.",
    "torch._C._VariableFunctions.",
    "torch.functional.",
    "torch._tensor.Tensor.",
    "torch.Tensor.",
    "torch.ops.aten.",
    "torch.",
)


@lru_cache(maxsize=4096)
def canonical(dotted: str) -> str | None:
    """ "torch.<bare>" for any spelling of a tensor operator ("torch.nn.functional.relu", "torch.Tensor.relu" and
    "torch.relu" are "torch.relu"; synonyms are joined: "torch.concat" is "torch.cat"); None: no tensor operator."""
    prefix = next((p for p in _PREFIXES if dotted.startswith(p)), None)
    if prefix is None:
        return None
    bare = dotted[len(prefix) :]
    if prefix == "torch.ops.aten.":
        bare = bare.partition(".")[0]
    if prefix == "torch.Tensor." and "." in bare:
        return None
    if prefix == "torch.nn.functional." and f"nn.functional.{bare}" in data("ops.json"):
        return f"torch.nn.functional.{bare}"
    if prefix == "torch." and not _reachable(bare):
        return None
    bare = _synonyms().get(bare, bare)
    return f"torch.{bare}" if bare in data("ops.json") else None


def _reachable(bare: str) -> bool:
    """Is `torch.<bare>` an operator, not only a Tensor method? `torch.load`, `torch.float` and `torch.dtype` aren't."""
    return bare not in _not_functions()


@cache
def _not_functions() -> frozenset[str]:
    return frozenset(data("synonyms.toml")["not_functions"]["names"])


@cache
def _synonyms() -> dict[str, str]:
    return dict(data("synonyms.toml")["synonyms"])


def _bare(op: str) -> str:
    return op[len("torch.") :] if op.startswith("torch.") else op


def saves_whole_buffer(op: str) -> bool:
    """Does this loss return a scalar on the storage of its whole elementwise buffer? Bare or canonical name."""
    return _bare(op) in data("modules.toml")["functional"]["keeps_buffer"]


def functional_loss(op: str) -> bool:
    """Is the operator a loss function ("cross_entropy", "torch.mse_loss")?"""
    return _bare(op) in data("modules.toml")["functional"]["losses"]


@cache
def _strides() -> dict[str, str]:
    table = data("consumers.toml")
    return {name: answer for answer in ("yes", "no") for group in table[answer].values() for name in group}


def accepts_strides(op: str) -> str:
    """Does this consumer take a non-contiguous tensor as it is: "yes", "no" (it fails, copies or runs on the layout),
    "unknown"? Bare or canonical name, or "arith" / "compare" for Python's operators."""
    return _strides().get(_bare(op), "unknown")


@cache
def _broadcasting(table: str) -> frozenset[str]:
    return frozenset(name for group in data("broadcasting.toml")[table].values() for name in group)


def reads_expanded(op: str) -> bool:
    """Does this operator read an expanded (stride 0) operand where it lies? Bare or canonical name."""
    return _bare(op) in _broadcasting("expanded")


def selects(op: str) -> bool:
    """Does this operator read only a few elements of its operand, those that an index names?"""
    return _bare(op) in _broadcasting("selects")


def elementwise(op: str) -> bool:
    """Does each element of the result depend on the operands' elements at the same place only?"""
    return _bare(op) in _broadcasting("elementwise")


# --- modules and roles -------------------------------------------------------------------------------------------


@cache
def _modules() -> dict[str, ModuleFact]:
    table = data("modules.toml")
    losses, keeps = set(table["losses"]), set(table["keeps_buffer"])
    containers, unless = set(table["containers"]), table["unless"]
    return {
        name: ModuleFact(name, answer, name in losses, name in keeps, name in containers, unless.get(name))
        for answer, names in table["parameters"].items()
        for name in names
    }


_REEXPORT = re.compile(r"torch\.nn\.(?:modules|parallel|parameter)\.(?:\w+\.)?(\w+)")


def module_fact(dotted: str) -> ModuleFact | None:
    """The facts of a known nn.Module class, under any of its import paths; None: not a known one."""
    found = _modules().get(dotted)
    if found is None and (match := _REEXPORT.fullmatch(dotted)):
        found = _modules().get(f"torch.nn.{match[1]}")
    return found


@cache
def _roles() -> Names:
    table = data("callables.toml")
    return Names((role, names) for role, names in table.items())


@lru_cache(maxsize=4096)
def role(dotted: str) -> str | None:
    """What a library callable is for: "optimizer", "scaler", "scheduler", "loader", "module_factory", "parameterless",
    "wrapper", "checkpoint_load", "checkpoint_save", "host", "passthrough", "copy", "factory", ... or None.
    Python's builtins go by their bare name ("len")."""
    found = _roles().get(dotted.removeprefix("builtins."))
    return None if found is None else str(found)


@cache
def libraries() -> frozenset[str]:
    """Root names of libraries whose functions compute, measure or draw, and never run a backward on what they get."""
    return frozenset(data("libraries.toml")["no_backward"])


# --- grad mode ---------------------------------------------------------------------------------------------------


@cache
def _contexts() -> Names:
    return Names((effect, names) for effect, names in data("contexts.toml").items())


@lru_cache(maxsize=4096)
def context_effect(dotted: str) -> str | None:
    """What a context manager or decorator does to grad mode: "off", "on", "argument" (its boolean argument decides),
    "none"; None: not known."""
    effect = _contexts().get(dotted)
    return None if effect is None else str(effect)


@cache
def mode_words() -> frozenset[str]:
    """The last parts of the names of all context managers and decorators that switch grad mode."""
    return frozenset(name.rpartition(".")[2] for name, effect in _contexts().exact.items() if effect != "none")


# --- containers --------------------------------------------------------------------------------------------------


@cache
def _containers() -> dict[str, ContainerFact]:
    table = data("containers.toml")
    listed = {**table["method"], **table["function"]}
    return {name: ContainerFact(name, **facts) for name, facts in listed.items()}


def container_method(name: str) -> ContainerFact | None:
    """What the method of that name does on a Python container ("append"); None: nothing with its contents."""
    return _containers().get(name)


def container_function(dotted: str) -> ContainerFact | None:
    """The same for functions that are given the container ("heapq.heappush")."""
    fact = _containers().get(dotted)
    return fact if fact is not None and fact.holder is not None else None


@cache
def storing_names() -> frozenset[str]:
    """The last names of all methods and functions that put an argument into a container."""
    return frozenset(name.rpartition(".")[2] for name, fact in _containers().items() if fact.stores is not None)


# --- names -------------------------------------------------------------------------------------------------------


@cache
def _weak() -> dict[str, Names]:
    return {kind: Names([(True, names)]) for kind, names in data("names.toml").items()}


def weak_name(kind: str, name: str) -> bool:
    """Does a variable or function name suggest `kind` ("model", "loss", "evaluation", "training", "optimizer",
    "scaler", "loader")? Weak evidence only; raises KeyError for a kind that names.toml has not."""
    return _weak()[kind].get(name) is not None
