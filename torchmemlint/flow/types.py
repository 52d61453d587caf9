"""Kinds from annotations: what a declared type says of a value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torchmemlint import knowledge
from torchmemlint.flow.values import HOST, UNKNOWN, Fact, Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.program import Program
    from torchmemlint.index.model import FileIndex, FunctionInfo

HOST_TYPES = frozenset("int float str bool bytes None complex numpy.ndarray np.ndarray pathlib.Path Path".split())
TENSOR_TYPES = frozenset("torch.Tensor Tensor torch.FloatTensor torch.LongTensor torch.nn.Parameter".split())
CONTAINERS = frozenset(
    "list List dict Dict tuple Tuple set Set Sequence Iterable Iterator Mapping deque typing.List typing.Dict".split()
)
PROPERTIES = frozenset({"property", "cached_property", "setter"})
OPTIONAL = re.compile(r"^(?:typing\.)?Optional\[(.*)\]$")
LISTED = re.compile(r"^(?:typing\.)?(?:[Ll]ist|Sequence|Iterable|[Tt]uple)\[([^\[\],]+)(?:, *\.\.\.)?\]$")
DATA = (
    HOST_TYPES
    | CONTAINERS
    | frozenset("Optional Union Literal torch.device torch.dtype torch.Size os.PathLike".split())
)
LITERAL = re.compile(r"\bLiteral\[[^\[\]]*\]")
NAMES = re.compile(r"([A-Za-z_][\w.]*)(\[?)")
ROLES = {"optimizer": Kind.OPTIMIZER, "scaler": Kind.SCALER, "loader": Kind.LOADER, "scheduler": Kind.OPTIMIZER}


def annotation_value(program: Program, index: FileIndex, text: str | None) -> Value:
    """The value that annotation `text` declares; UNKNOWN where it declares nothing that we know."""
    if not text:
        return UNKNOWN
    text = text.strip().strip("\"'")
    match = OPTIONAL.match(text)
    text = match.group(1) if match else text
    if text.endswith("| None"):
        text = text[: -len("| None")].strip()
    text = text.removeprefix(f"{index.module}.")  # a name of the file's own, whatever its folder is called
    if text in HOST_TYPES:
        return HOST
    if text in TENSOR_TYPES:
        return Value(kind=Kind.TENSOR)
    if text.partition("[")[0] in CONTAINERS:
        return Value(kind=Kind.CONTAINER, elements=_members(program, index, text))
    return _named(program, index, text) if text.replace(".", "").replace("_", "").isalnum() else UNKNOWN


def _members(program: Program, index: FileIndex, text: str) -> tuple[Value, ...] | None:
    """What each member of a list or tuple is, where it is a module."""
    match = LISTED.match(text)
    member = annotation_value(program, index, match.group(1)) if match else UNKNOWN
    return (member,) if member.kind is Kind.MODULE else None


def _named(program: Program, index: FileIndex, text: str) -> Value:
    value = program.global_value(index, text)
    if value.kind is Kind.CLASS:
        info = program.class_(value.name)
        return program.instance(info) if info is not None else UNKNOWN
    other = program.project.indexed_class(index, text) if "." in text else None
    if other is not None:  # a class that the file imports, by the name it has at home
        return program.instance(other)
    name = value.name if value.kind is Kind.EXTERNAL and value.name else text
    if name in TENSOR_TYPES:
        return Value(kind=Kind.TENSOR)
    if name in HOST_TYPES:
        return HOST
    if name in ("torch.nn.Module", "nn.Module") or name.endswith("PreTrainedModel"):
        return Value(kind=Kind.MODULE, graph=Fact.NO, name=None, trainable=Fact.YES)
    if knowledge.module_fact(name) is not None:
        return Value(kind=Kind.MODULE, graph=Fact.NO, name=name, trainable=Fact.YES)
    if name.startswith("torch.optim.Optimizer"):
        return Value(kind=Kind.OPTIMIZER, graph=Fact.NO)
    kind = ROLES.get(knowledge.role(name) or "")
    return Value(kind=kind, graph=Fact.NO, name=name) if kind is not None else UNKNOWN


def declares_data(text: str | None) -> bool:
    """Does an annotation name nothing but numbers, texts, devices and containers that are said to hold these?"""
    spelled = LITERAL.sub("Literal", text or "").replace('"', "").replace("'", "")
    names = [(name.removeprefix("typing."), opened) for name, opened in NAMES.findall(spelled)]
    return bool(names) and all(name in DATA and (opened or name not in CONTAINERS) for name, opened in names)


def never_holds_tensors(text: str | None) -> bool:
    """The same without `float`: losses are handed to parameters that are declared so, and Python does not mind."""
    return declares_data(text) and re.search(r"\b(?:float|complex)\b", text or "") is None


def is_property(method: FunctionInfo) -> bool:
    """Is it read like an attribute?"""
    return any(name.rpartition(".")[2] in PROPERTIES for name in method.decorators)


def is_open(program: Program, info: FunctionInfo, own: Value | None) -> bool:
    """Does an inherited method mention one that the class of the object, or one between, has for itself?"""
    project = program.project
    owner = project.owner(info) if own is not None and own.kind is Kind.INSTANCE else None
    made = program.class_(own.name) if owner is not None and own is not None else None
    if owner is None or made is None or (made.path, made.id) == (owner.path, owner.id):
        return False
    above = {(c.path, c.id) for c in project.mro(owner)}
    nearer = [c for c in project.mro(made) if (c.path, c.id) not in above]
    return any(name != info.name and project.names(info, name) for c in nearer for name in c.methods)
