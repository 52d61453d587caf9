"""Data sets: which classes feed a DataLoader, in how many worker processes, and what their methods do there."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow.devices import CHOSEN, CUDA, placed_on
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Op, closure
from torchmemlint.flow.layout import index_kind
from torchmemlint.flow.lean import walk
from torchmemlint.flow.optimizers import callee
from torchmemlint.flow.patterns import number
from torchmemlint.flow.values import Fact, Kind, Value, replace
from torchmemlint.knowledge import training

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.flow.program import Program
    from torchmemlint.index.model import ClassInfo, FunctionInfo

ITEM_METHODS = frozenset({"__getitem__", "__getitems__", "__iter__", "__next__"})
LOADERS = ("DataLoader", "StatefulDataLoader")
SEARCHED = 40  # functions looked through for loaders


def dataset_class(program: Program, info: FunctionInfo) -> ClassInfo | None:
    """The data set class that a method belongs to; None for all others."""
    owner = program.project.owner(info)
    return owner if owner is not None and is_dataset(program, owner) else None


def is_dataset(program: Program, owner: ClassInfo) -> bool:
    """Does the class derive from a data set class of PyTorch or of a library over it?"""
    return any(knowledge.role(base) == "dataset" for base in program.project.external_bases(owner))


def loaders(program: Program, path: str) -> Iterator[tuple[FunctionFlow, Op]]:
    """The DataLoaders that the project makes in files linked with this one."""
    mentions = {(m.path, m.id): m for name in LOADERS for m in program.project.mentions(name, path)}
    for info in list(mentions.values())[:SEARCHED]:
        flow = program.flow(info)
        for op in flow.named("construct") if flow is not None else ():
            if flow is not None and op.value.kind is Kind.LOADER:
                yield flow, op


def workers_of(op: Op) -> Fact:
    """Does the DataLoader run worker processes? NO by default."""
    given = op.argument(5, "num_workers")
    if given is None:
        return Fact.MAYBE if any(a.name in ("*", "**") for a in op.arguments) else Fact.NO
    if isinstance(given.value.const, int):
        return Fact.YES if given.value.const > 0 else Fact.NO
    return Fact.MAYBE


def workers(program: Program, owner: ClassInfo) -> Fact:
    """Is a data set of that class read by worker processes? MAYBE where no loader of it is seen."""
    key = program.key(owner)
    facts = [workers_of(op) for _, op in loaders(program, owner.path) if _feeds(op, key)]
    return max(facts) if facts else Fact.MAYBE


def collated_by(program: Program, info: FunctionInfo) -> Fact | None:
    """Is the function some DataLoader's `collate_fn`, and in worker processes? None where it is none."""
    owner = program.project.owner(info)
    called = owner if info.name == "__call__" else None
    keys = {program.key(called or info)}
    if owner is not None and called is None:  # `collate_fn=self.collate` of a base class
        keys |= {program.key(base) for base in _overridden(program, owner, info)}
    name = called.name if called is not None else info.name
    facts = []
    for mention in program.project.mentions("collate_fn")[:SEARCHED]:
        flow = program.flow(mention) if program.project.names(mention, name) else None
        made = flow.named("construct") if flow is not None else ()
        facts += [workers_of(op) for op in made if op.value.kind is Kind.LOADER and _collates(op, keys)]
    return max(facts) if facts else None


def _overridden(program: Program, owner: ClassInfo, info: FunctionInfo) -> list[FunctionInfo]:
    """The methods of the bases that this one replaces."""
    bases = program.project.mro(owner)[1:]
    found = (program.project.at(base.path, base.methods.get(info.name)) for base in bases)
    return [method for method in found if method is not None]


def lambda_collating(flow: FunctionFlow, op: Op) -> Fact | None:
    """Is the operation in a lambda that a DataLoader of the function collates with, in worker processes?"""
    for made in flow.named("construct"):
        given = made.argument(None, "collate_fn") if made.value.kind is Kind.LOADER else None
        if given is not None and isinstance(given.node, cst.Lambda) and op.node in walk(given.node.body):
            return workers_of(made)
    return None


def _feeds(op: Op, key: str) -> bool:
    given = op.argument(0, "dataset")
    return given is not None and given.value.kind is Kind.INSTANCE and given.value.name == key


def _collates(op: Op, keys: Collection[str]) -> bool:
    given = op.argument(None, "collate_fn")
    return given is not None and given.value.kind in (Kind.FUNCTION, Kind.INSTANCE) and given.value.name in keys


def in_workers(flow: FunctionFlow) -> Fact | None:
    """Is the function run for each item of a data set, in worker processes? None where it is no such function."""
    owner = dataset_class(flow.program, flow.info)
    if owner is None:
        return None
    if flow.info.name in ITEM_METHODS or _called_for_items(flow):
        return workers(flow.program, owner)
    return None


def _called_for_items(flow: FunctionFlow, calls: int = 3) -> bool:
    """Does a method that gives an item call it, directly or through other helpers?"""
    if flow.info.name == "__init__" or not calls:
        return False
    callers = {site.flow for site in flow.program.callers.sites(flow.info).calls if site.flow is not flow}
    if any(caller.info.name in ITEM_METHODS for caller in callers):
        return True
    return any(caller.info.owner == flow.info.owner and _called_for_items(caller, calls - 1) for caller in callers)


# -- data that is moved as a whole ------------------------------------------------------------------------------------
FEW = 16  # rows that a slice takes at most to count as few


@dataclass(frozen=True)
class WholeData:
    """A tensor that is moved to an accelerator at once and read by slices afterwards."""

    op: Op  # the move
    name: str | None
    read: Op  # the operation that takes a slice


def whole_data_moves(flow: FunctionFlow) -> Iterator[WholeData]:
    """The moves of whole data sets that a function makes."""
    for op in flow.ops:
        if (
            op.depth == 0
            and not op.loops
            and placed_on(op) in (CUDA, CHOSEN)
            and op.name in ("torch.to", "torch.cuda", "?call")
        ):
            read = _sliced_attribute(flow, op) or _in_tensor_dataset(op) or _sliced_by_caller(flow, op)
            if read is not None:
                yield WholeData(op, _kept_as(op), read)


def _in_tensor_dataset(op: Op) -> Op | None:
    """`TensorDataset(x.to(device))`, which serves one row at a time."""
    reached = closure([op], lambda o: o.uses if o is op or o.name == "bind" else (), 20)
    return next((o for o in reached if (o.callee or "").rpartition(".")[2] == "TensorDataset"), None)


def few_rows(user: Op) -> bool:
    """Does the reader take rows at literal positions, `x[:1]` or `x[0]`, and nothing else?"""
    if user.name not in ("torch.getitem", "torch.index", "item") or not isinstance(user.node, cst.Subscript):
        return False
    first = user.node.slice[0]
    if index_kind(first) in ("one", "int"):
        return True
    index = first.slice
    upper = number(index.upper) if isinstance(index, cst.Slice) and index.lower is None and index.step is None else None
    return upper is not None and 0 < upper <= FEW


def _kept_as(op: Op) -> str | None:
    return next((u.path for u in op.uses if u.name in ("store", "bind") and u.path), None)


def _sliced_attribute(flow: FunctionFlow, op: Op) -> Op | None:
    """`self.data = data.to(device)` in a constructor; a method that serves items or batches indexes it."""
    path = _kept_as(op)
    owner = flow.program.project.owner(flow.info)
    if owner is None or flow.info.name != "__init__" or path is None or not path.startswith("self."):
        return None
    for reader in _methods(flow.program, owner):
        if reader.info.name == "__init__" or not (is_dataset(flow.program, owner) or _serves(reader)):
            continue
        found = next((o for load in reader.named("load") if load.path == path for o in load.uses if _indexes(o)), None)
        if found is not None:
            return found
    return None


def _methods(program: Program, owner: ClassInfo) -> Iterator[FunctionFlow]:
    return (flow for method in program.project.methods(owner) if (flow := program.flow(method)) is not None)


def _serves(flow: FunctionFlow) -> bool:
    """Does the method return or yield what it takes out?"""
    return bool(flow.named("return", "yield")) and len(flow.info.parameters) > 1


def _indexes(op: Op) -> bool:
    return op.name in ("item", "torch.getitem", "torch.index", "read", "torch.index_select", "iter")


def _sliced_by_caller(flow: FunctionFlow, op: Op) -> Op | None:
    """A helper returns what it moved; its callers give the result, whole, to a function that slices it in a loop."""
    returned = next(
        (u for u in closure([op], lambda o: o.uses if o is op or o.name == "bind" else ()) if u.name == "return"), None
    )
    if not flow.info.name:
        return _sliced_in_loop(op)
    within = _sliced_in_loop(op)
    if within is not None and any(step.loops == within.loops for step in flow.named("step")):
        return within  # the optimizer steps for each slice: it is no batch
    if returned is None or flow.info.name == "forward":
        return None
    for site in flow.program.callers.sites(flow.info).calls:
        if not site.op.loops and not site.flow.info.name:
            found = _sliced_in_loop(site.op) or _sliced_below(site.flow, site.op)
            if found is not None:
                return found
    return None


def _sliced_in_loop(op: Op) -> Op | None:
    """A slice by a position that changes, in a loop that the tensor was made outside of."""
    return next((u for u in op.uses if _indexes(u) and u.name != "iter" and len(u.loops) > len(op.loops)), None)


def _sliced_below(flow: FunctionFlow, op: Op) -> Op | None:
    """The name is read by a function of the file that takes slices, itself or by a helper that it hands the tensor
    to."""
    names = {u.path for u in op.uses if u.name == "bind"}
    for info in flow.program.project.naming(flow.info.path, *sorted(filter(None, names))):
        inner = flow.program.flow(info) if info.name else None
        for load in inner.named("load") if inner is not None else ():
            if inner is None or load.path not in names:
                continue
            for user in load.uses:
                if user.name == "argument" and user.loops or _indexes(user) and user.loops:
                    return user
    for user in op.uses:
        if user.name == "argument":
            found = _parameter_sliced(flow, user)
            if found is not None:
                return found
    return None


def _parameter_sliced(flow: FunctionFlow, argument: Op) -> Op | None:
    """Does the called function slice that argument in a loop, or hand it on in one?"""
    for call in argument.uses:
        info = flow.program.called(call)
        inner = flow.program.flow(info) if info is not None else None
        if inner is None:
            continue
        for parameter in inner.parameters:
            for user in parameter.uses:
                if user.loops and (_indexes(user) and user.name != "iter" or user.name == "argument"):
                    return user
    return None


# -- samples as Python objects ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ObjectStore:
    """An attribute of a data set that holds Python objects. `nested`: each sample's is a container itself."""

    owner: ClassInfo
    path: str
    store: Op
    read: Op
    nested: bool


def object_stores(flow: FunctionFlow) -> Iterator[ObjectStore]:
    """The object-holding attributes that a constructor of a data set fills."""
    owner = dataset_class(flow.program, flow.info)
    if owner is None or flow.info.name in ITEM_METHODS or not flow.info.parameters:
        return
    seen: set[str] = set()
    for holder in flow.named("load"):
        for store in holder.stores if holder.path not in seen else ():
            nested = _objects(flow, store.value, store.value_node) if holder.path and store.how == "assign" else None
            if nested is None or holder.path is None:
                continue
            read = next((o for o in _item_reads(flow.program, owner, holder.path)), None)
            if read is not None and holder.path not in seen:
                seen.add(holder.path)
                yield ObjectStore(owner, holder.path, store.op, read, nested)


def _item_reads(program: Program, owner: ClassInfo, path: str) -> Iterator[Op]:
    for method in _methods(program, owner):
        if method.info.name in ITEM_METHODS or _called_for_items(method):
            yield from (load for load in method.named("load") if load.path == path)


def _objects(flow: FunctionFlow, value: Value, node: object) -> bool | None:
    """Does the value hold many Python objects? True: containers, False: plain ones, None: no, or not known."""
    for maker in value.defs:
        if maker.name == "comprehension" and isinstance(maker.node, (cst.ListComp, cst.DictComp)):
            return _members(maker)
        if maker.name in ("literal.list", "literal.dict") and any(
            len(s.op.loops) > len(maker.loops) for s in maker.stores
        ):
            return _members(maker)
        if maker.name == "read" and maker.callee in ("sorted", "list") and maker.inputs:
            return _objects(flow, replace(value, defs=tuple(maker.inputs)), node)
        if maker.name == "call":
            return _returned(flow, maker)
    return _by_reader(flow, node)


def _members(maker: Op) -> bool | None:
    stored = [s.value for s in maker.stores]
    if any(m.kind is Kind.TENSOR for v in stored for m in (v, *(v.elements if isinstance(v.elements, tuple) else ()))):
        return None
    return any(v.kind is Kind.CONTAINER for v in stored)


def _returned(flow: FunctionFlow, call: Op) -> bool | None:
    """A project function that returns a list which it fills in a loop or comprehension."""
    inner = callee(flow, call)
    for back in inner.named("return") if inner is not None else ():
        for maker in back.inputs:
            if maker.name in ("comprehension", "literal.list") and inner is not None:
                return _objects(inner, back.value, None)
    return None


def _by_reader(flow: FunctionFlow, node: object) -> bool | None:
    """`json.load(f)`, `glob.glob(pattern)`, `COCO(path)`: readers that give Python objects, from the knowledge
    tables."""
    while (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Name)
        and node.func.value in ("sorted", "list")
        and node.args
    ):
        node = node.args[0].value
    if not isinstance(node, cst.Call):
        return None
    path = dotted(node.func)
    name = flow.program.project.dotted(flow.unit.index, path) if path is not None else ""
    kind = training.object_reader(name)
    return None if kind is None else kind == "nested"


TRANSFERS = frozenset("to cuda device accelerator Accelerator Trainer fit prepare Fabric".split())


def pins_for_nothing(flow: FunctionFlow, op: Op) -> bool:
    """Is it a DataLoader that pins its batches, in a file in which nothing is moved to a device?"""
    given = op.argument(7, "pin_memory")
    if op.value.kind is not Kind.LOADER or given is None or given.value.const is not True:
        return False
    return not flow.program.project.names_any(flow.unit.index, TRANSFERS) and bool(
        flow.named("module", "call", "?call")
    )
