"""Who reads a tensor in the end: through names, views, local containers and the project's own functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow.classes import loads
from torchmemlint.flow.graph import Op, closure
from torchmemlint.flow.patterns import bare, in_place
from torchmemlint.flow.values import Value

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

DEPTH = 2  # how many calls deep a tensor is followed
SHAPES = frozenset({"size", "dim", "numel", "ndimension", "nelement"})  # they ask for the shape and read no element
ROWS = frozenset({"iter", "item", "read"})
SHARING = frozenset(
    """numpy data_ptr const_data_ptr storage untyped_storage to_dlpack register_hook register_post_accumulate_grad_hook
    """.split()
)
"""They give no tensor, but what may keep or write the tensor's memory."""
LOCAL_HOLDERS = frozenset({"literal.list", "literal.tuple", "literal.dict", "literal.set", "comprehension"})
CONTAINERS = frozenset({"Sequential", "ModuleList", "ModuleDict", "Module", "DataParallel"})
WRITERS = frozenset(
    """ReLU ReLU6 LeakyReLU RReLU ELU SELU CELU SiLU Mish Hardswish Hardtanh Hardsigmoid Threshold Dropout Dropout1d
    Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout""".split()
)
"""Layers that take `inplace=True`."""
QUIET = frozenset(
    """bind del return yield const param load compare arith host literal.list literal.tuple literal.dict literal.set
    comprehension store iter item read function class context enter""".split()
)


@dataclass
class Reading:
    """`readers`: pairs of an operation that computes with the tensor and the operation whose result it reads (the
    tensor's own, or a view's); `escapes`: it is also returned, stored out of sight, or given to code out of sight."""

    readers: list[tuple[Op, Op]] = field(default_factory=list)
    escapes: bool = False

    @property
    def ops(self) -> list[Op]:
        """The reading operations alone."""
        return [reader for reader, _ in self.readers]


def reading(
    flow: FunctionFlow,
    op: Op,
    *,
    calls: int = DEPTH,
    returns: bool = False,
    stop: frozenset[str] = frozenset(),
    through: frozenset[str] = frozenset(),
) -> Reading:
    """Follow the result of `op`; with `returns`, into the callers too where all of them are known. Operators of `stop`
    count as readers, though they give views; those of `through` are followed like views."""
    found = Reading()
    seen = {op}
    todo = [(flow, op, calls)]
    while todo and len(seen) < 300:
        where, current, depth = todo.pop()
        for user in current.consumers:
            if bare(user) in SHAPES:
                continue
            if bare(user) in through:
                onward: list[tuple[FunctionFlow, Op, int] | None] = [(where, user, depth)]
            else:
                onward = [] if bare(user) in stop else list(_onward(where, current, user, depth, returns))
            if onward == [None]:
                found.escapes = True
            elif not onward:
                found.readers.append((user, current))
            for step in onward:
                if step is not None and step[1] not in seen:
                    seen.add(step[1])
                    todo.append(step)
    return found


def _onward(
    flow: FunctionFlow, current: Op, user: Op, depth: int, returns: bool
) -> Iterator[tuple[FunctionFlow, Op, int] | None]:
    """Where the tensor goes on from `user`; nothing: `user` is a reader; None alone: out of sight."""
    if user.name in LOCAL_HOLDERS or user.name in ROWS or is_view(user):
        yield flow, user, depth
    elif user.name == "store":
        holder = next((h for h in user.uses if any(s.op is user for s in h.stores)), None)
        yield (flow, holder, depth) if holder is not None and holder.name in LOCAL_HOLDERS else None
    elif user.name in ("call", "argument"):
        yield from _into(flow, current, user, depth)
    elif user.name == "return":
        yield from _callers(flow, depth) if returns else [None]
    elif user.name in ("yield", "?call", "construct", "custom"):
        yield None


def _into(flow: FunctionFlow, current: Op, call: Op, depth: int) -> Iterator[tuple[FunctionFlow, Op, int] | None]:
    """The parameters of a project function that receive the tensor."""
    if call.name == "argument":
        calls = flow.named("call", "module")
        call = next((c for c in calls if any(a.node is call.node for a in c.arguments)), call)
    if call.name == "module":
        info = flow.program.method(call.callee, "forward")
    else:
        info = flow.program.called(call)
    inner = flow.program.flow(info) if info is not None and depth > 0 else None
    if info is None or inner is None:
        yield None
        return
    found = False
    for position, argument in enumerate(flow.program.callers.bound(info, call)):
        if argument is not None and current in argument.value.defs and position < len(inner.parameters):
            found = True
            yield inner, inner.parameters[position], depth - 1
    if not found:
        yield None


def _callers(flow: FunctionFlow, depth: int) -> Iterator[tuple[FunctionFlow, Op, int] | None]:
    sites = flow.program.callers.sites(flow.info)
    if not sites.complete or depth <= 0:
        yield None
        return
    for site in sites.calls:
        yield site.flow, site.op, depth - 1


def is_view(op: Op) -> bool:
    """Does the operation surely return a view of its receiver?"""
    if op.name in ("torch.getitem", "torch.data"):
        return True
    fact = knowledge.operator(bare(op)) if bare(op) and op.receiver is not None else None
    return fact is not None and fact.kind == "view" and not in_place(op)


def counted(value: Value) -> bool:
    """Is it a row of numbers counted up (`torch.arange`), in whatever shape? Positions and indices take few bytes."""
    behind = closure(value.defs, lambda o: o.receiver.defs if o.receiver is not None and is_view(o) else ())
    sources = [op for op in behind if op.receiver is None or not is_view(op)]
    return bool(sources) and all(bare(op) == "arange" for op in sources)


def is_fresh(op: Op) -> bool:
    """Does the operation surely leave its operands alone and give a new tensor, or Python data?"""
    if op.name in ("arith", "compare"):
        return not in_place(op)
    if op.name == "host":
        return type(op.node) is not cst.Call or _reads_only(op.callee) or _copied_by_numpy(op)
    if bare(op) in SHARING:
        return False
    fact = knowledge.operator(bare(op)) if op.name.startswith("torch.") else None
    if fact is None or any(a.name == "out" for a in op.arguments):
        return False
    if op.name == "torch.index" and op.value.shares:
        return False  # the index may be a number: a view
    return fact.kind in ("fresh", "host")


def _reads_only(callee: str | None) -> bool:
    """Is it a function of Python itself? Arrays and pictures of other libraries may lie on the tensor's memory."""
    return callee is not None and ("." not in callee or callee.startswith("math."))


def _copied_by_numpy(op: Op) -> bool:
    """Is it `numpy.array`, which copies unless it is told not to?"""
    return op.callee == "numpy.array" and all(a.name != "copy" for a in op.arguments)


def undisturbed(flow: FunctionFlow, start: Op, ends: list[Op]) -> bool:
    """Is nothing run between `start` and the last of `ends` that could write a tensor behind our back?"""
    last = max((op.order for op in ends), default=start.order)
    first = start.order
    for op in ends:
        outside = len(op.loops) < len(start.loops) and start.loops[: len(op.loops)] == op.loops
        if op.unit is not start.unit or op.order < start.order or not (op.loops == start.loops or outside):
            return False
        if outside:  # the loop comes round before the reader: all of its body runs between
            loop = start.loops[len(op.loops)]
            first = min(first, min(o.order for o in flow.ops if loop in o.loops) - 1)
    between = (op for op in flow.ops if first < op.order <= last and op is not start and op not in ends)
    return all(op.name in QUIET and not in_place(op) or _harmless(op) for op in between)


def _harmless(op: Op) -> bool:
    if op.name == "module":
        return _only_reads(op)
    return op.name.startswith("torch.") and not in_place(op) and knowledge.operator(bare(op)) is not None


def _only_reads(op: Op) -> bool:
    """Is it a layer of PyTorch that leaves its input alone, or one that may write it and is given another's result?"""
    name = (op.receiver.name or "") if op.receiver is not None else ""
    bare_name = name.rpartition(".")[2]
    if not name.startswith("torch.nn.") or bare_name in CONTAINERS:
        return False
    if bare_name not in WRITERS:
        return True
    given = [maker for a in op.arguments for maker in a.value.defs]
    return bool(given) and all(made.name == "module" and _only_reads(made) for made in given)


def overwritten(source: Value) -> bool:
    """Is the tensor, a view of it, or what it is a view of written in place anywhere in the function?"""
    roots = {*source.defs, *source.shares}
    for root in list(roots):
        roots.update(root.value.shares)
    if any(in_place(root) and root.carried for root in roots):
        return True  # what an earlier iteration has written, the next one writes again
    reached = closure(roots, lambda o: [u for u in o.uses if o in u.value.shares])
    return any(
        in_place(user) and (user.receiver is None or op in user.receiver.defs) for op in reached for user in op.uses
    )


def written_elsewhere(flow: FunctionFlow, source: Value) -> bool:
    """Does another function write what an attribute holds in place?"""
    names = {(op.path or "").rpartition(".")[2] for op in source.defs if op.name == "load" and "." in (op.path or "")}
    for name in names:
        for info in flow.program.project.mentions(name, flow.info.path):
            inner = flow.program.flow(info) if info is not flow.info else None
            kept = set(loads(inner, name)) if inner is not None else set()
            users = (user for op in kept for user in op.uses)
            if any(in_place(u) and u.receiver is not None and not kept.isdisjoint(u.receiver.defs) for u in users):
                return True
    return False


def sole_contents(read: Op, test: Callable[[Value], bool]) -> bool:
    """Does `read` take a member out of a local container that nothing else reads, all of whose members pass `test`?"""
    holders = [op for op in read.inputs if op.name in LOCAL_HOLDERS]
    if len(holders) != 1 or not holders[0].stores:
        return False
    return set(holders[0].consumers) <= {read} and all(test(store.value) for store in holders[0].stores)
