"""Training steps: which operations clear, fill and apply gradients, over which modules, and what optimizers own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmemlint import knowledge
from torchmemlint.flow.devices import on_accelerator
from torchmemlint.flow.enclosing import bound_in, loop_around
from torchmemlint.flow.graph import Mode, Op, closure, upstream
from torchmemlint.flow.timeline import names_in
from torchmemlint.flow.values import Fact, Kind, Value
from torchmemlint.knowledge import training

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

CAPTURES = frozenset({"torch.cuda.graph", "torch.cuda.graphs.graph", "torch.cuda.make_graphed_callables"})
GROUPS = ".param_groups"
DEPTH = 3  # calls into calls that are looked through
FORWARDS = frozenset({"module", "call", "?call", "custom"})


def callee(flow: FunctionFlow, op: Op) -> FunctionFlow | None:
    """The interpretation of the project function that a "call" operation calls."""
    info = flow.program.called(op) if op.name == "call" else None
    return flow.program.flow(info) if info is not None else None


# -- the phases of a step ---------------------------------------------------------------------------------------------


def is_step(op: Op) -> bool:
    """Does the operation apply gradients: `optimizer.step()`, `scaler.step(optimizer)`? A scheduler's step does not."""
    if op.name != "step" or op.receiver is None:
        return False
    return knowledge.role(op.receiver.name or "") != "scheduler" and not _scheduled(op)


def _scheduled(op: Op) -> bool:
    """A schedule is stepped with an epoch, a metric or nothing; an optimizer with nothing or a closure."""
    return (
        any(a.value.kind is Kind.HOST for a in op.arguments)
        and op.receiver is not None
        and op.receiver.kind is Kind.UNKNOWN
    )


def is_clear(flow: FunctionFlow, op: Op) -> bool:
    """Does the operation clear gradients, itself or in a project function that does nothing else with them?"""
    if op.name == "zero_grad":
        return True
    inner = callee(flow, op)
    if inner is None:
        return False
    return bool(inner.named("zero_grad")) and not inner.named("backward", "step")


def clearing(flow: FunctionFlow) -> list[Op]:
    """The operations that clear gradients, in order."""
    return [op for op in flow.named("zero_grad", "call") if is_clear(flow, op)]


def trains(flow: FunctionFlow, after: int = -1, depth: int = DEPTH) -> bool:
    """Does the function, or one that it calls, run a backward or make an optimizer behind operation number `after`?"""
    for op in flow.ops:
        if op.order <= after:
            continue
        if op.name in ("backward", "step") or op.name == "construct" and op.value.kind is Kind.OPTIMIZER:
            return True
        inner = callee(flow, op) if depth else None
        if inner is not None and trains(inner, -1, depth - 1):
            return True
    return False


def trained(flow: FunctionFlow, before: int) -> bool:
    """Has the function run a backward by operation number `before`, or called a function that does?"""
    for op in flow.ops:
        inner = callee(flow, op) if op.order < before else None
        if op.order < before and (op.name == "backward" or inner is not None and inner.runs_backward):
            return True
    return False


def leaves_gradients(flow: FunctionFlow, depth: int = DEPTH) -> Fact:
    """Are gradients filled when the function returns? NO where it clears them last, MAYBE where it does neither."""
    state = Fact.MAYBE
    for op in flow.ops:
        state = after(flow, op, state, depth)
    return state


def after(flow: FunctionFlow, op: Op, state: Fact, depth: int = DEPTH) -> Fact:
    """The same fact behind one operation."""
    if op.name == "backward":
        return Fact.YES
    if op.name == "zero_grad":
        return Fact.NO
    inner = callee(flow, op) if depth else None
    if inner is None:
        return state
    left = leaves_gradients(inner, depth - 1)
    return left if left is not Fact.MAYBE else state


def evaluates(flow: FunctionFlow, op: Op) -> bool:
    """Does the call run forward passes over many batches, with grad off or in eval mode, and no backward?"""
    inner = callee(flow, op)
    if inner is None or inner.named("backward", "step"):
        return False
    evaluated = bool(inner.named("eval"))
    return any((_quiet_pass(inner, o) or evaluated and o.name == "module") and o.loops for o in inner.ops)


def _quiet_pass(flow: FunctionFlow, op: Op) -> bool:
    if op.mode is not Mode.OFF:
        return False
    if op.name == "module" or op.name == "?call" and op.callee in {p.name for p in flow.info.parameters}:
        return True
    inner = callee(flow, op)
    return inner is not None and bool(inner.named("module")) and not inner.named("backward")


# -- modules and losses -----------------------------------------------------------------------------------------------


def passes_of(root: Value) -> set[Op]:
    """The forward passes of trainable modules whose graphs a value carries."""
    found = set()
    for maker in root.defs:
        for op in upstream(maker):
            trains_here = op.receiver is not None and op.receiver.trainable is not Fact.NO
            if _is_pass(op) and trains_here and op.mode is not Mode.OFF and op.value.graph is not Fact.NO:
                found.add(op)
    return found


def _is_pass(op: Op) -> bool:
    """A module is called, or a method of one that computes with it."""
    return op.path is not None and (
        op.name == "module"
        or op.name == "call"
        and op.receiver is not None
        and op.receiver.kind is Kind.MODULE
        and op.path.count(".") > 0
    )


def pass_path(op: Op) -> str:
    """The path of the module that a pass goes through."""
    path = op.path or ""
    return path if op.name == "module" else path.rpartition(".")[0]


def modules_of(root: Value) -> frozenset[str]:
    """The paths of those modules, losses left out."""
    return frozenset(pass_path(op) for op in passes_of(root) if not is_criterion(op))


def is_criterion(op: Op) -> bool:
    """Is the module a loss function of PyTorch, without parameters?"""
    fact = knowledge.module_fact(op.receiver.name or "") if op.receiver is not None else None
    return fact is not None and fact.parameters == "no"


def optimizer_path(flow: FunctionFlow, step: Op) -> str | None:
    """The name of the optimizer that a step applies: the receiver, or the scaler's argument."""
    from torchmemlint.flow.frame import dotted

    if (
        step.receiver is not None
        and step.receiver.kind is Kind.SCALER
        or step.arguments
        and step.arguments[0].value.kind is not Kind.FUNCTION
    ):
        return dotted(step.arguments[0].node) if step.arguments else None
    return dotted(step.receiver_node) if step.receiver_node is not None else None


@dataclass(frozen=True)
class Owned:
    """What an optimizer is given: paths of modules whose parameters it holds. `known`: nothing else may be in it."""

    op: Op
    paths: frozenset[str]
    known: bool


def optimizers(flow: FunctionFlow) -> Iterator[Owned]:
    """The optimizers that a function makes."""
    for op in flow.named("construct"):
        if op.value.kind is Kind.OPTIMIZER and knowledge.role(op.callee or "") == "optimizer":
            yield owned(op)


def owned(op: Op) -> Owned:
    """The modules whose parameters go into one optimizer."""
    given = op.argument(0, "params")
    if given is None:
        return Owned(op, frozenset(), False)
    sources = list(closure(given.value.defs, _behind, 300))
    asked = [o for o in sources if o.name == "parameters"]
    paths = {o.path for o in asked if o.path} | {path for o in asked for path in _held_modules(o)}
    leaves = [o for o in sources if o.name.startswith("torch.") or o.name == "call" and o.value.kind is Kind.TENSOR]
    opaque = any(o.name in ("?call", "call", "param") and o not in leaves for o in sources) or not given.value.defs
    return Owned(op, frozenset(paths), bool(paths or leaves) and not opaque)


def _held_modules(parameters: Op) -> set[str]:
    """The names of the modules in a list of modules whose parameters are asked for."""
    lists = [op for op in (parameters.receiver or Value()).defs if op.stores]
    held = [maker for op in lists for store in op.stores for maker in store.value.defs]
    return {use.path for maker in held for use in maker.uses if use.name == "bind" and use.path}


def _behind(op: Op) -> Sequence[Op]:
    """What an optimizer's argument is put together from; a tensor is a leaf, wherever it comes from."""
    return [] if op.name in ("parameters", "module", "call") or op.name.startswith("torch.") else op.inputs


# -- gradients
# ----------------------------------------------------------------------------------------------------------


def keeps_on_purpose(flow: FunctionFlow) -> bool:
    """Must gradients stay allocated here: flat buffers, CUDA graphs, other processes, or a program that makes them
    itself?"""
    if flow.program.project.names_any(flow.unit.index, training.preallocating()):
        return True
    if any(op.callee in CAPTURES for other in _file_flows(flow, "graph") for op in other.ops):
        return True
    return any(_makes_gradients(other) for other in _file_flows(flow, "grad"))


def _file_flows(flow: FunctionFlow, word: str) -> Iterator[FunctionFlow]:
    for info in flow.program.project.naming(flow.info.path, word):
        inner = flow.program.flow(info)
        if inner is not None:
            yield inner


def _makes_gradients(flow: FunctionFlow) -> bool:
    """`p.grad = torch.zeros_like(p)`"""
    for op in flow.named("write"):
        if (op.path or "").endswith(".grad") and any(
            o.name.startswith("torch.zeros") or o.name == "torch.empty_like" for o in op.inputs
        ):
            return True
    return False


def gradient_of(op: Op) -> str | None:
    """The path of the module over whose parameters' gradients an operation loops: `p.grad.zero_()`,
    `p.grad.data.zero_()`."""
    sources = list(closure(op.receiver.defs if op.receiver is not None else [], _same_gradient, 40))
    if not any(o.name == "torch.grad" or o.name == "load" and (o.path or "").endswith(".grad") for o in sources):
        return None
    owners = (o.path for o in sources if o.name == "parameters" and o.path)
    groups = (o.path for o in sources if o.path and o.path.endswith(GROUPS))
    return next(owners, None) or next((path.removesuffix(GROUPS) for path in groups), None)


def _same_gradient(op: Op) -> Sequence[Op]:
    """What an operation only reaches into or views: a tensor made like the gradient is not the gradient."""
    if op.name.startswith("torch."):
        view = op.receiver is not None and (op.name == "torch.grad" or op.value.shares)
        return list(op.receiver.defs) if op.receiver is not None and view else []
    return [] if op.name in ("parameters", "?call") else op.inputs


# -- optimizers themselves
# ----------------------------------------------------------------------------------------------


def rebuilt(flow: FunctionFlow, op: Op) -> Op | None:
    """The step of an optimizer that is constructed again in each round of that step's loop, over the same parameters;
    None for any other operation."""
    if (
        op.value.kind is not Kind.OPTIMIZER
        or knowledge.role(op.callee or "") != "optimizer"
        or not op.loops
        or op.branches
    ):
        return None
    inside = [o for o in closure([op], lambda o: o.inputs, 300) if o is not op and o.loops[: len(op.loops)] == op.loops]
    if any(o.name not in ("parameters", "bind", "literal.list", "literal.dict", "host", "load") for o in inside):
        return None
    if not owned(op).known or _over_things(flow, op) or _varies(flow, op):
        return None
    steps = [o for o in flow.named("step") if is_step(o) and o.receiver is not None and op in o.receiver.defs]
    return next((o for o in steps if o.loops[: len(op.loops)] == op.loops and len(o.loops) - len(op.loops) <= 1), None)


def _varies(flow: FunctionFlow, op: Op) -> bool:
    """Does an argument mention a name that the loop binds?"""
    loop = loop_around(flow, op.node)
    if loop is None:
        return True
    bound = bound_in(loop)
    return any(not bound.isdisjoint(names_in(a.node)) for a in op.arguments)


def _over_things(flow: FunctionFlow, op: Op) -> bool:
    """Does the loop around run over a container (tasks, folds, settings) and not merely count?"""
    return any(
        o.name in ("iter", "batch")
        and o.loops[: len(op.loops)] == op.loops[: len(o.loops)]
        and o.order < op.order
        and len(o.loops) == len(op.loops)
        for o in flow.ops
    )


def step_temporaries(op: Op) -> tuple[float, training.OptimizerFact] | None:
    """How many parameter sets an optimizer allocates inside step() on CUDA, where the call leaves the choice to
    PyTorch."""
    fact = training.optimizer_fact(op.callee or "")
    if fact is None or any(
        a.name in ("foreach", "fused", "capturable", "differentiable", "*", "**") for a in op.arguments
    ):
        return None
    unless = training.temporaries_unless(fact.name)
    extra = max((unless[a.name] for a in op.arguments if a.name in unless and a.value.const != 0), default=0.0)
    sets = max(fact.foreach, extra)
    return (sets, fact) if sets >= 1 else None


def on_host(flow: FunctionFlow, op: Op) -> bool:
    """Are all the modules that the optimizer holds on the CPU, as far as the function shows? Unknown counts as no."""
    known = owned(op)
    facts = [
        on_accelerator(flow, o.receiver, o.path, op.order)
        for o in flow.named("parameters")
        if o.path in known.paths and o.receiver is not None
    ]
    return bool(facts) and max(facts) is Fact.NO
