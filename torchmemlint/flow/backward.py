"""Backward calls: which values they walk, which graphs they free."""

from __future__ import annotations

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow.frame import Frame
from torchmemlint.flow.graph import Argument, Op, Sink, upstream
from torchmemlint.flow.values import HOST, Fact, Kind, Value, replace

RECEIVER = -1


def backward_call(f: Frame, node: cst.Call, func: cst.Attribute, base: Value, args: list[Argument]) -> Value | None:
    """Interpret `loss.backward()`, `accelerator.backward(loss)`, …; None where the method is no backward call."""
    if base.kind in (Kind.HOST, Kind.CONTAINER):
        return None
    position = knowledge.backward_call(func.attr.value)
    if position is None or (f.program.is_project_method(base, func.attr.value) and not _of_framework(f, base)):
        return None
    if position == RECEIVER and (base.kind not in (Kind.TENSOR, Kind.UNKNOWN) or _takes_loss(args)):
        position = knowledge.engine_backward(func.attr.value) or 0
    plain = [a for a in args if a.name is None]
    walked = base if position == RECEIVER else plain[position].value if len(plain) > position else None
    if walked is None:
        return None
    walk(f, node, walked, args, base)
    return HOST


def _of_framework(f: Frame, base: Value) -> bool:
    """Is it an object of a framework's class whose source is part of the project?"""
    info = f.program.class_(base.name)
    bases = f.program.project.all_bases(info) if info is not None else ()
    return any(knowledge.framework_hook(name, "training_step") is not None for name in bases)


def _takes_loss(args: list[Argument]) -> bool:
    """`engine.backward(loss)`: the first positional argument carries the graph, not the receiver."""
    return bool(args) and args[0].name is None and args[0].value.fact is not Fact.NO and bool(args[0].value.defs)


def walk(f: Frame, node: cst.CSTNode, root: Value, args: list[Argument], base: Value | None = None) -> Op:
    """Record a backward over `root`: proof that it carries a graph, and, unless retained, the end of its buffers."""
    op = f.op("backward", node, HOST, receiver=root, arguments=args, inputs=[base], passes=False, sunk=[Sink.BACKWARD])
    for maker in root.defs:
        if root.graph is not Fact.YES or maker.value.kind is not Kind.CONTAINER:
            prove(maker)  # of a member known to carry a graph the call that made it says nothing of the others
    if not any(a.name in ("retain_graph", "create_graph") and _retains(a.value) for a in args):
        free(op, root)
    return op


def _retains(flag: Value) -> bool:
    """Is the graph kept? A parameter of the function, whose default mostly says no, decides nothing."""
    given = bool(flag.defs) and all(maker.name == "param" for maker in flag.defs)
    return flag.const is not False and not given


def free(op: Op, root: Value) -> None:
    """`op` ends the buffers of the graph of `root`; where branches have chosen one of several, of what is in each of
    them, and of what its branch has made for it."""
    reached = [set(upstream(maker)) for maker in root.defs]
    for maker, sources in zip(root.defs, reached):
        for source in sources:
            shared = source is maker or all(source in others for others in reached)
            if op not in source.freed and (shared or _made_for(source, maker)):
                source.freed = (*source.freed, op)


def _made_for(source: Op, maker: Op) -> bool:
    """Does the operation stand in the branch that makes the result?"""
    return bool(maker.branches) and source.branches[: len(maker.branches)] == maker.branches


def prove(op: Op) -> None:
    """The result carries a graph; where only one operand can have brought it, so does that one's maker."""
    while not op.proven:
        op.proven = True
        makers = [m for m in op.inputs if m.passes and m.value.fact is not Fact.NO and m.name not in ("param", "load")]
        if op.value.graph is Fact.YES or not op.passes or len(makers) != 1 or op.name in ("module", "?call"):
            return
        op = makers[0]


def grad(f: Frame, node: cst.Call, args: list[Argument]) -> Value:
    """`torch.autograd.grad(outputs, inputs, …)`: a backward whose results carry a graph only with create_graph."""
    op = walk(f, node, args[0].value, args) if args else None
    asked = next((a.value for a in args if a.name == "create_graph"), HOST)
    creates = any(a.name == "create_graph" for a in args) and asked.const is not False
    value = f.tensor([a.value for a in args[:2]]) if creates else Value(kind=Kind.TENSOR, graph=Fact.NO)
    if asked.const is not True:  # by a flag
        value = replace(value, graph=min(value.graph, Fact.MAYBE))
    inputs = [a.value for a in args[:2]] if creates else []
    result = f.op(
        "torch.autograd.grad",
        node,
        replace(value, kind=Kind.TENSOR),
        arguments=args if creates else (),
        inputs=inputs,
        passes=creates,
    )
    if op is not None and creates:
        op.freed = ()
    return replace(result.value, kind=Kind.UNKNOWN)
