"""`torch.autograd.Function` subclasses: what their forward leaves on `ctx`, and where their backward reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow.frame import dotted
from torchmemlint.flow.graph import Op, Store, closure
from torchmemlint.flow.lean import walk
from torchmemlint.flow.values import Kind, Value, known_members

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.index.model import ClassInfo, FunctionInfo
    from torchmemlint.index.view import View


DEPTH = 2  # how many calls up a helper's callers are asked


NO_TENSORS = frozenset(
    {Kind.HOST, Kind.INSTANCE, Kind.CONTAINER, Kind.MODULE, Kind.FUNCTION, Kind.EXTERNAL, Kind.CLASS}
)


class Role(Enum):
    """What a tensor on `ctx` is to the function."""

    OUTPUT = "output"
    OUTPUT_VIEW = "view of an output"
    INPUT = "input"
    INTERMEDIATE = "intermediate"


@dataclass(frozen=True)
class OnContext:
    """A tensor stored as an attribute of `ctx`, or handed to `save_for_backward` (then `holder` is None)."""

    role: Role
    op: Op
    value: Value
    store: Store | None = None
    holder: Op | None = None

    @property
    def attribute(self) -> str:
        """The attribute's name on `ctx`."""
        return (self.holder.path or "").partition(".")[2] if self.holder is not None else ""


def function_class(flow: FunctionFlow) -> ClassInfo | None:
    """The `autograd.Function` whose forward (or `setup_context`) this is."""
    info, project = flow.info, flow.program.project
    owner = project.owner(info) if info.name in ("forward", "setup_context") else None
    return owner if owner is not None and info.parameters and is_custom(flow.program.project, owner) else None


def is_custom(project: View, owner: ClassInfo) -> bool:
    """Is the class an `autograd.Function`, or what other libraries call one?"""
    bases = project.external_bases(owner)
    return any(knowledge.framework_hook(base, "vjp") is not None for base in bases)


def in_custom_function(flow: FunctionFlow, calls: int = DEPTH) -> bool:
    """Is the code part of an autograd.Function, or a helper that only such code calls? Nothing in it is recorded."""
    owner = flow.program.project.owner(flow.info)
    if owner is not None:
        return is_custom(flow.program.project, owner)
    sites = flow.program.callers.sites(flow.info).calls if calls > 0 else ()
    return bool(sites) and all(in_custom_function(site.flow, calls - 1) for site in sites)


def on_context(flow: FunctionFlow) -> Iterator[OnContext]:
    """All tensors that a Function's forward leaves on `ctx` otherwise than whole through `save_for_backward`."""
    owner = function_class(flow)
    if owner is None:
        return
    roles = _Roles(flow, owner)
    for holder in flow.named("load"):
        if holder.path is None or not holder.path.startswith(roles.context + ".") or holder.path.count(".") > 1:
            continue
        for store in holder.stores:
            role = roles.role(store.value)
            if role is not None:
                yield OnContext(role, store.op, store.value, store, holder)
    for op in flow.named("?call"):
        if op.callee == "?.save_for_backward" and op.path == roles.context:
            for argument in op.arguments:
                if roles.role(argument.value) is Role.OUTPUT_VIEW:
                    yield OnContext(Role.OUTPUT_VIEW, op, argument.value)


class _Roles:
    """Which values are inputs and outputs of one forward."""

    def __init__(self, flow: FunctionFlow, owner: ClassInfo) -> None:
        self.flow, self.owner = flow, owner
        names = [p.name for p in flow.info.parameters]
        self.setup = flow.info.name == "setup_context"
        self.context = names[0]
        self.inputs = {op: i - 1 for i, op in enumerate(flow.parameters) if i}
        self.outputs = {op for value in flow.frame.returns for op in _makers(value)}
        if self.setup:
            self.outputs = set(flow.parameters[2:3])
            self.inputs = dict.fromkeys(flow.parameters[1:2], -1)
        self.gradients = _gradients(flow, owner)

    def role(self, value: Value) -> Role | None:
        """What the value is; of a tuple, dict or record what the weightiest of its members is."""
        held = [role for part in _parts(value) if (role := self.role(part)) is not None]
        return min(held, key=list(Role).index) if held else self._own(value)

    def _own(self, value: Value) -> Role | None:
        if value.kind in NO_TENSORS:
            return None
        if any(op in self.outputs and not self._untouched_input(op) for op in value.defs):
            return Role.OUTPUT
        if any(op in self.outputs for op in _shared(value)) and not any(op.name == "torch.detach" for op in value.defs):
            return Role.OUTPUT_VIEW
        if any(op in self.inputs for op in value.defs):
            positions = {self.inputs[op] for op in value.defs if op in self.inputs}
            return Role.INPUT if all(self._is_tensor(i) for i in positions) else None
        if self.setup and any(op in self.inputs for op in closure(value.defs, lambda o: o.inputs)):
            return None
        return Role.INTERMEDIATE if value.kind is Kind.TENSOR and value.device != "cpu" else None

    def _untouched_input(self, op: Op) -> bool:
        """An input that is returned as it came: PyTorch makes a new tensor of it."""
        return op in self.inputs

    def _is_tensor(self, position: int) -> bool:
        """Has the argument a gradient, or is it declared a tensor? Sizes and flags get None."""
        if position in self.gradients:
            return True
        parameters = self.flow.parameters[1:]
        return 0 <= position < len(parameters) and parameters[position].value.kind is Kind.TENSOR


def _parts(value: Value) -> list[Value]:
    """The known members of a tuple, list or dict, and what an object of the project is made of."""
    if value.kind is Kind.INSTANCE:
        return [a.value for op in value.defs if op.name == "construct" for a in op.arguments]
    return list(known_members(value)) if value.kind is Kind.CONTAINER else []


def _makers(value: Value) -> Iterator[Op]:
    if value.kind is Kind.CONTAINER and isinstance(value.elements, tuple):
        for element in value.elements:
            yield from _makers(element)
    else:
        yield from value.defs


def _shared(value: Value) -> Iterator[Op]:
    """The operations whose storage a value shares, through views of views."""
    return closure(value.shares, lambda op: op.value.shares)


def _gradients(flow: FunctionFlow, owner: ClassInfo) -> frozenset[int]:
    """Positions of the arguments for which the backward returns a gradient."""
    backward = reader(flow, owner)
    if backward is None or not backward.frame.returns:
        return frozenset()
    found: set[int] = set()
    for value in backward.frame.returns:
        members = value.elements if value.kind is Kind.CONTAINER and isinstance(value.elements, tuple) else ()
        if not members and len(flow.info.parameters) <= 2:
            members = (value,)  # a single gradient; else it is a tuple out of sight: a sum, or what a call gives
        found.update(i for i, member in enumerate(members) if member.kind is not Kind.HOST)
    return frozenset(found)


def reader(flow: FunctionFlow, owner: ClassInfo) -> FunctionFlow | None:
    """The interpretation of the class's backward."""
    info: FunctionInfo | None = flow.program.project.method(owner, "backward")
    return flow.program.flow(info) if info is not None else None


def reads(backward: FunctionFlow, attribute: str) -> list[cst.Attribute] | None:
    """All places where the backward reads `ctx.<attribute>`; None where it also writes or deletes it."""
    context = backward.info.parameters[0].name if backward.info.parameters else ""
    found: list[cst.Attribute] = []
    for node in walk(backward.node):
        if isinstance(node, (cst.Del, cst.AssignTarget, cst.AugAssign)) and _names(node, context, attribute):
            return None
        if isinstance(node, cst.Attribute) and dotted(node) == f"{context}.{attribute}":
            found.append(node)
    return found


def _names(node: cst.CSTNode, context: str, attribute: str) -> bool:
    target = node.target if isinstance(node, (cst.Del, cst.AssignTarget, cst.AugAssign)) else node
    return isinstance(target, cst.Attribute) and dotted(target) == f"{context}.{attribute}"


def released(backward: FunctionFlow, attribute: str) -> bool:
    """Does the backward delete the attribute, set it to None or empty it, when it has used it?"""
    context = backward.info.parameters[0].name if backward.info.parameters else ""
    path = f"{context}.{attribute}"
    ends = (op for op in backward.named("del", "store") if op.path == path)
    emptying = (f"{path}.pop", f"{path}.clear")
    emptied = (dotted(op.node.func) for op in backward.ops if isinstance(op.node, cst.Call))
    return any(op.name == "del" or op.value.kind is Kind.HOST for op in ends) or any(e in emptying for e in emptied)


def other_methods(*flows: FunctionFlow) -> list[FunctionInfo]:
    """The methods of the class of these functions other than they."""
    project = flows[0].program.project
    owner = project.owner(flows[0].info)
    mine = {flow.info.id for flow in flows}
    return [m for m in project.methods(owner) if m.id not in mine] if owner is not None else []
