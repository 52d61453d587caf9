"""Results of forwards that a loop collects on the device: what each member is, what becomes of the collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.batches import per_batch
from torchmemlint.flow.classes import loads
from torchmemlint.flow.emptied import piles_up
from torchmemlint.flow.flagged import by_default
from torchmemlint.flow.graph import Argument, Mode, Op, Sink, Store, closure, fact
from torchmemlint.flow.growth import comes_round, joins_parameters
from torchmemlint.flow.handed import runs_with_grad
from torchmemlint.flow.keeping import holder_kind, outlives
from torchmemlint.flow.lifetimes import applied_flow, callee_forwards
from torchmemlint.flow.patterns import number, takes_last, told_by_text
from torchmemlint.flow.rounds import over_data, written_out
from torchmemlint.flow.scalars import called_loss
from torchmemlint.flow.values import INTEGRAL, Fact, Kind, Value, known_members
from torchmemlint.flow.weights import ALONG, REDUCING, ROWWISE, takes_column

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.flow.summary import Kept

FLATTENING = frozenset({"view", "reshape", "flatten", "squeeze"})
NESTING = 4  # how deep tuples, dicts and calls are looked into
COLLECTING = frozenset("append extend comprehension setitem update add put insert appendleft".split())
ACCELERATORS = frozenset({"cuda", "device", "accelerator", "accelerate", "xpu", "mps", "local_rank", "gpu"})
OUTPUTS = frozenset({"module", "torch.autograd.grad"})  # an output, or gradients as large as the parameters
OVER = frozenset({Sink.HOST, Sink.LIBRARY})
SIZES = frozenset({"keys", "size", "dim", "numel"})


class End(Enum):
    """What becomes of the collection."""

    HOST = "host"  # it ends as Python or NumPy data, or in a library
    LAST = "last"  # only its last member is read
    UNREAD = "unread"  # nothing reads it
    ASKED = "asked"  # nothing reads it where the function is called with its defaults
    DEVICE = "device"  # the program computes with it
    UNKNOWN = "unknown"  # code out of sight has it


@dataclass(frozen=True)
class Collected:
    """One store of a forward's result into something that outlives the iteration."""

    op: Op  # the store, or the call of a method that stores
    value_node: cst.BaseExpression | None
    name: str
    over_data: bool  # once a batch of a loader or iterable, not once a step of a range
    end: End
    doubtful: bool = False  # not in each iteration, or not known to be a forward's result
    tensor: bool = False  # it is known to be a tensor
    pooled: bool = False  # averaged over some dimensions, which may leave little


def collected(flow: FunctionFlow, holder: Op) -> Iterator[Collected]:
    """The results of forwards that stay on the device in `holder`, without a graph."""
    kind = holder_kind(flow, holder)
    if kind not in ("container", "attribute", "global") or not accelerated(flow):
        return
    batch = kind == "attribute" and per_batch(flow)
    for store in holder.stores:
        lasting = outlives(holder, store) if kind == "container" else bool(store.op.loops) or batch
        lasting = lasting or kind == "attribute" and piles_up(flow, holder, store) and _end(flow, holder) is End.LAST
        if store.how not in COLLECTING or not lasting or written_out(flow, holder, store.op):
            continue
        around = store.op.loops[: len(holder.loops) + 1]
        surely = stays(flow, store.value, around, holder=holder)
        end = _end(flow, holder) if surely else End.ASKED if _computed(store) and _asked(flow, holder) else None
        if end is not None:
            name = holder.path or store.op.path or _name(holder)
            doubtful = not surely or store.op.branches != holder.branches
            sure = store.value.kind is Kind.TENSOR
            pooled = surely and _pooled(flow, store.value.defs)
            data = over_data(holder, store.op) or batch and not store.op.loops
            yield Collected(store.op, store.value_node, name, data, end, doubtful, sure, pooled)


def _computed(store: Store) -> bool:
    """Is it a tensor that a call without grad gives, of whatever size?"""
    return store.op.mode is Mode.OFF and store.value.kind is Kind.TENSOR and not small(store.value)


def collected_by_callee(flow: FunctionFlow, call: Op) -> Iterator[Collected]:
    """The results of forwards that a called method leaves in its object, once an iteration."""
    for kept, holder, arguments in call.kept:
        fresh = holder is not None and bool(holder.value.defs) and all(d.loops == call.loops for d in holder.value.defs)
        if kept.how in COLLECTING and call.loops and accelerated(flow) and not fresh:
            for argument in arguments:
                if stays(flow, argument.value, call.loops[:1]) and not _moved_there(flow, call, kept):
                    end = _end_on_object(flow, kept.path, kept.place.unit.source.path)
                    pooled = _pooled(flow, argument.value.defs)
                    where = _where(flow, kept.path, holder)
                    yield Collected(call, None, where, over_data(None, call), end, pooled=pooled)


def joined_by_callee(flow: FunctionFlow, call: Op) -> Iterator[Collected]:
    """The results of forwards that a helper joins on the device to what it returned an iteration before."""
    if not call.loops or not comes_round(call) or not accelerated(flow):
        return
    inner = applied_flow(flow, call)
    joins = [op for op in inner.named("torch.cat") if joins_parameters(op)] if inner is not None else []
    new = [a for a in call.arguments if call not in a.value.defs and stays(flow, a.value, call.loops[:1])]
    if new and joins and all(op.value.device != "cpu" for op in joins):
        readers = [u for u in call.uses if u is not call and u.name not in ("bind", "argument")]
        end = becomes(flow, readers, 3) if readers else End.UNKNOWN
        pooled = any(_pooled(flow, a.value.defs) for a in new)
        yield Collected(call, None, _name(call), over_data(None, call), end, pooled=pooled)


def _moved_there(flow: FunctionFlow, call: Op, kept: Kept) -> bool:
    """Does the called function move what it stores to the CPU, or make it small?"""
    inner = applied_flow(flow, call)
    stores = [s for op in inner.ops for s in op.stores if s.op.node is kept.place.node] if inner is not None else []
    values = [s.value for s in stores]
    return any(v.device == "cpu" or v.kind is Kind.HOST or small(v) or any(map(reduces, v.defs)) for v in values)


def accelerated(flow: FunctionFlow) -> bool:
    """Does the file know of an accelerator at all, or leave it to a framework?"""
    return flow.program.project.names_any(flow.unit.index, ACCELERATORS) or per_batch(flow)


def stays(
    flow: FunctionFlow, value: Value, loops: tuple[int, ...] = (), depth: int = NESTING, holder: Op | None = None
) -> bool:
    """Is the value a result of a forward inside these loops, at full size, without a graph, not known to be on the CPU,
    or a tuple or dict of which a member is? What is read back from `holder`, to be joined, is there already."""
    if value.kind is Kind.CONTAINER and depth and _holds(flow, value, loops, depth - 1):
        return True
    if value.kind in (Kind.HOST, Kind.MODULE, Kind.OPTIMIZER, Kind.FUNCTION):
        return False
    if small(value) or value.device == "cpu" or any(map(reduces, value.defs)):
        return False
    makers = closure(value.defs, lambda op: () if holder in op.inputs else through(op))
    made = any(_inside(op, loops) and _forwards(flow, op) for op in makers)
    return made and _without_graph(flow, value)


def _without_graph(flow: FunctionFlow, value: Value) -> bool:
    """Has it no graph: here, or because every known caller has grad off?"""
    if fact(value) is Fact.NO:
        return True
    return bool(value.defs) and not any(runs_with_grad(flow, op) for op in value.defs)


def _holds(flow: FunctionFlow, value: Value, loops: tuple[int, ...], depth: int) -> bool:
    """Does a member stay: one that is known, or one that a called function returned?"""
    if any(stays(flow, member, loops, depth) for member in known_members(value)):
        return True
    calls = (op for op in value.defs if op.name == "call" and _inside(op, loops))
    called = (inner for op in calls if (inner := applied_flow(flow, op)) is not None)
    return any(stays(inner, returned, (), depth) for inner in called for returned in inner.frame.returns)


def _inside(op: Op, loops: tuple[int, ...]) -> bool:
    return op.loops[: len(loops)] == loops


def _forwards(flow: FunctionFlow, op: Op) -> bool:
    """A forward without a graph behind its result: a module's own, whether grad is off or the result is detached, or a
    function of the project that runs one for a tensor; gradients."""
    if op.name in OUTPUTS:
        return not told_by_text(op)
    if op.name == "call" and (op.receiver is None or op.receiver.kind is not Kind.MODULE):
        without = op.mode is Mode.OFF or fact(op.value) is Fact.NO
        return without and op.value.kind is Kind.TENSOR and _returns_output(flow, op)
    if op.mode is not Mode.OFF:
        return False
    method = op.name == "call"
    result = op.value.elements if op.value.kind is Kind.CONTAINER and isinstance(op.value.elements, tuple) else ()
    tensors = all(part.kind is Kind.TENSOR for part in result or (op.value,))
    return method and tensors and callee_forwards(flow, op) is not None


def _returns_output(flow: FunctionFlow, call: Op, depth: int = NESTING) -> bool:
    """Does a function of the project return what a forward in it gave, at full size or averaged over some dimension?"""
    inner = applied_flow(flow, call) if depth else None
    for returned in inner.frame.returns if inner is not None else ():
        if not small(returned) and returned.device != "cpu" and inner is not None:
            makers = list(closure(returned.defs, through))
            if not any(map(reduces, returned.defs)) and any(
                op.name in OUTPUTS or op.name == "call" and _returns_output(inner, op, depth - 1) for op in makers
            ):
                return True
    return False


def _pooled(flow: FunctionFlow, makers: Iterable[Op], depth: int = NESTING) -> bool:
    """Is it averaged on the way, here or in a function that gives it: perhaps down to one number a row?"""
    for op in closure(makers, through):
        inner = applied_flow(flow, op) if op.name == "call" and depth and op.value.kind is Kind.TENSOR else None
        given = [maker for returned in inner.frame.returns for maker in returned.defs] if inner is not None else []
        if _pools(op) or inner is not None and _pooled(inner, given, depth - 1) or _ends_pooled(flow, op, depth):
            return True
    return False


def _ends_pooled(flow: FunctionFlow, op: Op, depth: int) -> bool:
    """Is it the last thing that a module of the project does, to leave dimensions out?"""
    known = op.name == "module" and op.receiver is not None and depth
    info = flow.program.method(op.receiver.name, "forward") if known and op.receiver is not None else None
    inner = flow.program.flow(info) if info is not None else None
    last = [maker for returned in inner.frame.returns for maker in returned.defs] if inner is not None else []
    return inner is not None and any(_pools(maker) or _ends_pooled(inner, maker, depth - 1) for maker in last)


def _pools(op: Op) -> bool:
    """Does it leave a number a row: a mean or sum over some dimensions, a distance, what is called a loss?"""
    if op.value.scalar is Fact.YES:
        return False
    if (op.callee or "").removeprefix("?.") in FLATTENING or op.name.removeprefix("torch.") in FLATTENING:
        return _drops_dimensions(op)
    over = op.argument(1 if op.name.startswith("torch.linalg.") else 0, "dim")
    along = op.name in ALONG and over is not None and over.value.const != 0
    return along or op.name in ROWWISE or takes_column(op) or called_loss(op)


def _drops_dimensions(op: Op) -> bool:
    """`y.view(-1)`, `y.squeeze(1)`: mostly of a column, one number a row."""
    given = [number(a.node) for a in op.arguments]
    return given == [-1] or not given or (op.callee or op.name).endswith(".squeeze")


def through(op: Op) -> Sequence[Op]:
    """The operands, unless the operation moves its result to the CPU, makes it small, or is out of sight: what a method
    gives may be of its object, not of what it is given."""
    if op.name == "?call":
        return op.receiver.defs if op.receiver is not None and (op.callee or "").startswith("?.") else []
    return [] if op.value.device == "cpu" or op.value.kind is Kind.HOST or reduces(op) else op.inputs


def reduces(op: Op) -> bool:
    reduces = op.name in REDUCING and not _pools(op)
    return reduces or op.name == "compare" or small(op.value) or _is_loss(op)


def _is_loss(op: Op) -> bool:
    """Does a backward start from the value? Then it is a single number, also detached."""
    detached = op.name in ("torch.detach", "torch.data")
    return any(u.name == "backward" for maker in (op, *(op.inputs if detached else ())) for u in maker.uses)


def small(value: Value) -> bool:
    return value.scalar is Fact.YES or value.dtype in INTEGRAL


def _name(holder: Op) -> str:
    return next((u.path for u in holder.uses if u.name in ("bind", "store") and u.path), "the list")


def _where(flow: FunctionFlow, path: str, holder: Argument | None) -> str:
    owner = flow.program.path_of(holder)
    attribute = path.partition(".")[2]
    return f"{owner}.{attribute}" if owner and attribute else path


def readers_of(holder: Op) -> list[Op]:
    """What uses the holder, besides names and what is put into it."""
    stores = {store.op for store in holder.stores}
    return [u for u in holder.uses if u.name not in ("bind", "del") and u not in stores]


def _reading(holder: Op) -> list[Op]:
    return [u for u in readers_of(holder) if u.uses or not u.name.startswith("literal.")]  # `a, b = [], []`


def _asked(flow: FunctionFlow, holder: Op) -> bool:
    """Does nothing read the collection when the function is called with its defaults, which fill it all the same?"""
    readers = _reading(holder)
    if not readers or all(map(takes_last, readers)):
        return False
    return by_default(flow, readers) is not None and by_default(flow, [store.op for store in holder.stores]) is None


def _end(flow: FunctionFlow, holder: Op) -> End:
    readers = _reading(holder)
    if readers and all(map(takes_last, readers)):
        return End.LAST
    if _asked(flow, holder):
        return End.ASKED
    if holder.name != "load":
        return becomes(flow, readers, 3)
    return _end_on_object(flow, holder.path or "", flow.info.path) if "." in (holder.path or "") else End.UNKNOWN


def _end_on_object(flow: FunctionFlow, path: str, file: str) -> End:
    """The same of a collection in an attribute, by all functions of the project that name the attribute."""
    attribute = path.rpartition(".")[2]
    readers: list[Op] = []
    ends = set()
    for info in flow.program.project.mentions(attribute, file):
        inner = flow.program.flow(info)
        if inner is None:
            return End.UNKNOWN
        found = [u for load in loads(inner, attribute) for u in readers_of(load)]
        readers += found
        if found:
            ends.add(becomes(inner, found, 3))
    if readers and all(map(takes_last, readers)):
        return End.LAST
    return ends.pop() if len(ends) == 1 else End.UNKNOWN


def becomes(flow: FunctionFlow, readers: Iterable[Op], depth: int) -> End:
    """Where the members go, callers included as far as they are all known."""
    reached = list(closure(readers, lambda o: o.uses if o.value.device != "cpu" and not _over(o) else ()))
    if any(o.name in ("torch.matmul", "module") or _with_outputs(o, reached) for o in reached):
        return End.DEVICE
    sunk = {sink for o in reached for sink in o.sunk if not _over(o)}
    if sunk - OVER - {Sink.RETURNED}:
        return End.UNKNOWN
    if Sink.RETURNED not in sunk:
        computed = any(o.name == "argument" for o in reached) and not any(o.sunk & OVER for o in reached)
        return End.UNKNOWN if computed else End.HOST
    sites = flow.program.callers.sites(flow.info)
    if not depth or not sites.complete:
        return End.UNKNOWN
    ends = {becomes(site.flow, site.op.uses, depth - 1) for site in sites.calls}
    return ends.pop() if len(ends) == 1 else End.UNKNOWN


def _with_outputs(op: Op, reached: Sequence[Op]) -> bool:
    """Is it a call of the project's code that is given the result of another forward beside it, as to compare them?"""
    given = [a.value.defs for a in op.arguments] if op.name == "call" else []
    others = [maker for makers in given if set(makers).isdisjoint(reached) for maker in makers]
    return any(o.name == "module" for o in closure(others, through))


def _over(op: Op) -> bool:
    """Does nothing of the members go on from here: only numbers, keys or sizes?"""
    if op.name == "argument" and op.sunk - OVER:
        return False  # the function that is called does more with them
    return bool(op.sunk & OVER) or op.name == "?call" and (op.callee or "").rpartition(".")[2] in SIZES
