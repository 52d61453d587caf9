"""Work handed to other threads: grad mode belongs to a thread, so a `no_grad` around the pool does not reach it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmemlint.flow.contexts import apply_effect
from torchmemlint.flow.dispatch import invoke
from torchmemlint.flow.graph import Argument, Mode, Op, closure
from torchmemlint.flow.holders import element_of
from torchmemlint.flow.lean import walk
from torchmemlint.flow.values import Fact, Kind, Value

if TYPE_CHECKING:
    import libcst as cst

    from torchmemlint.flow.frame import Frame
    from torchmemlint.flow.function import FunctionFlow

POOLS = frozenset(
    {
        "concurrent.futures.ThreadPoolExecutor",
        "concurrent.futures.thread.ThreadPoolExecutor",
        "multiprocessing.pool.ThreadPool",
        "multiprocessing.dummy.Pool",
    }
)
MAPS = frozenset("map map_async imap imap_unordered starmap starmap_async".split())
SUBMITS = {"submit": 0, "apply": 0, "apply_async": 0, "run_in_executor": 1, **dict.fromkeys(MAPS, 0)}
"""Methods that hand a function to another thread: the position of the function."""
STARTERS = {"threading.Thread": 1, "threading.Timer": 1, "asyncio.to_thread": 0}
DEPTH = 3  # calls that are looked through for a forward


def method(f: Frame, node: cst.Call, name: str, base: Value, args: list[Argument]) -> Value | None:
    """`pool.submit(fn, …)`, `pool.map(fn, items)`: the function runs in another thread; None for other methods."""
    position = SUBMITS.get(name)
    if position is None or not (name == "run_in_executor" or _is_pool(base)):
        return None
    plain = [a for a in args if a.name is None]
    if len(plain) <= position:
        return None
    given = plain[position + 1 :]
    if name in MAPS:
        given = [Argument(None, element_of(f, a.node, a.value), a.node) for a in given]
    result = _elsewhere(f, node, plain[position], given)
    elements = (result,) if name in MAPS else None
    return Value(graph=result.graph, params=result.params, elements=elements, kind=_kind(name))


def _kind(name: str) -> Kind:
    return Kind.CONTAINER if name in MAPS and not name.endswith("async") else Kind.UNKNOWN


def start(f: Frame, node: cst.Call, name: str, args: list[Argument]) -> None:
    """`threading.Thread(target=fn, args=(…))`, `asyncio.to_thread(fn, …)`."""
    position = STARTERS[name]
    plain = [a for a in args if a.name is None]
    target = next((a for a in args if a.name in ("target", "function")), None)
    given = next((a.value.elements for a in args if a.name == "args"), None)
    if target is None and len(plain) > position:
        target = plain[position]
    passed = [Argument(None, value, node) for value in given] if isinstance(given, tuple) else plain[position + 1 :]
    if target is not None:
        _elsewhere(f, node, target, passed)


def _elsewhere(f: Frame, node: cst.Call, target: Argument, given: list[Argument]) -> Value:
    """The result of the call in a fresh thread, where grad is on."""
    if target.value.kind not in (Kind.FUNCTION, Kind.MODULE):
        return Value()
    mode, f.state.mode = f.state.mode, Mode.ON
    for guard in (op.receiver for op in target.value.defs if op.name == "guarded"):  # `torch.no_grad()(fn)`
        apply_effect(f, guard or Value())
    result = invoke(f, node, target.value, given)
    f.state.mode = mode
    return result


def _is_pool(base: Value) -> bool:
    makers = closure(base.defs, lambda o: o.inputs if o.name in ("bind", "store", "load") else (), 20)
    made = (o.receiver for o in makers if o.receiver is not None)
    return base.name in POOLS or any(r.kind is Kind.EXTERNAL and r.name in POOLS for r in made)


def unguarded(flow: FunctionFlow) -> Iterator[Op]:
    """Calls under no_grad that let another thread run a forward, whose grad mode is on."""
    for op in flow.named("?call"):
        if op.mode is not Mode.OFF or not _hands_over(op):
            continue
        own = [o for o in flow.named("module", "call") if o.node is op.node or o.depth > op.depth]
        nested = _nodes(flow, op)
        if any(records(flow, o, DEPTH) for o in own if o.node is op.node or id(o.node) in nested):
            yield op


def _hands_over(op: Op) -> bool:
    if op.receiver is not None and op.receiver.kind is Kind.EXTERNAL:
        return op.receiver.name in STARTERS
    name = (op.callee or "").removeprefix("?.")
    return op.receiver is not None and (name == "run_in_executor" or name in SUBMITS and _is_pool(op.receiver))


def _nodes(flow: FunctionFlow, op: Op) -> set[int]:
    """The nodes of the nested functions and lambdas that are handed over."""
    roots = [c.node for a in op.arguments if (c := flow.frame.closures.get(a.value.const)) is not None]
    return {id(node) for root in roots for node in walk(root)}


def records(flow: FunctionFlow, op: Op, depth: int) -> bool:
    """Does the operation run a forward of a module with weights in the mode that the thread was started with?"""
    if op.mode is Mode.OFF:
        return False
    if op.name == "module":
        return op.receiver is not None and op.receiver.trainable is not Fact.NO
    program = flow.program
    info = program.called(op)
    if info is None or not depth or program.entry_mode(info) is Mode.OFF:
        return False
    inner = program.flow(info, program.callers.context(info)) or program.flow(info)
    return inner is not None and any(records(inner, o, depth - 1) for o in inner.named("module", "call"))
