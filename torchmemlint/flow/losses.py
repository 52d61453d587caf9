"""Losses that are summed before one backward: which of their terms share no forward pass, so that each could be
backpropagated on its own and its graph freed before the next one is recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.graph import Op, Sink, closure, fact, upstream
from torchmemlint.flow.lifetimes import applied_flow
from torchmemlint.flow.optimizers import is_criterion
from torchmemlint.flow.values import Fact, Kind, Value
from torchmemlint.flow.work import works
from torchmemlint.knowledge import functional_loss

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

SUMS = frozenset({"torch.add", "torch.add_", "torch.sum", "torch.mean", "torch.stack", "torch.cat", "torch.sub"})
PASSES = frozenset({"module", "call", "custom"})
HANDED = frozenset({"iter", "literal.list", "literal.tuple", "read", "bind", "comprehension", "store"})
SECOND_ORDER = frozenset({"torch.autograd.grad"})


@dataclass(frozen=True)
class Summed:
    """Terms of a sum whose graphs are alive together until `backward`. `over`: "batches" (a loop over a loader),
    "pieces" (of one batch), "loop", "terms"; `later`: the operation whose forward runs while the graphs of earlier
    terms are held; `place`: what sums."""

    backward: Op
    later: Op
    over: str
    place: Op


def summed(flow: FunctionFlow) -> Iterator[Summed]:
    """The backward calls of a function that walk independent graphs at once."""
    for backward in flow.named("backward"):
        root = backward.receiver or Value()
        if any(op.name in SECOND_ORDER for maker in root.defs for op in upstream(maker)):
            continue
        found = _over_loop(flow, backward) or _over_terms(flow, backward)
        if found is not None:
            yield found
    for given in flow.named("argument"):  # a total that a helper walks
        found = _over_loop(flow, given) if Sink.BACKWARD in given.sunk and all(map(linear, given.inputs)) else None
        if found is not None:
            yield found


def linear(op: Op) -> bool:
    """Is the result a weighted sum of the operands, with weights that are numbers?"""
    if op.name in SUMS or op.name == "?call" and op.callee == "?.scale":  # `scaler.scale(loss).backward()`
        return True
    if op.name != "arith":
        return False
    if isinstance(op.node, (cst.BinaryOperation, cst.AugAssign)):
        operator = type(op.node.operator).__name__.removesuffix("Assign")
        if operator in ("Add", "Subtract"):
            return True
        weights = [a.value for a in op.arguments] + ([op.receiver] if op.receiver is not None else [])
        attached = [v for v in weights if fact(v) is not Fact.NO and not _given(v)]
        if any(v.kind is Kind.TENSOR and v.scalar is not Fact.YES for v in weights if v not in attached):
            return False  # weights that may be known only behind the loop
        divisor = op.arguments[-1].value if operator == "Divide" and op.arguments else None
        by_tensor = divisor in attached and isinstance(op.node, cst.BinaryOperation)
        return operator in ("Multiply", "Divide") and len(attached) <= 1 and not by_tensor
    return isinstance(op.node, (cst.UnaryOperation, cst.Call))


def _given(value: Value, depth: int = 3) -> bool:
    """Is it a setting that the function was given: a parameter of unknown kind, what is read off one, or a number
    computed from such (`1 - alpha`)?"""
    if value.kind is not Kind.UNKNOWN or value.graph is not Fact.NO or not value.defs or not depth:
        return False
    return all(_is_given(op, depth) for op in value.defs)


def _is_given(op: Op, depth: int) -> bool:
    if op.name != "arith":
        return op.name in ("param", "load", "item")
    operands = [a.value for a in op.arguments] + ([op.receiver] if op.receiver is not None else [])
    return all(v.kind is Kind.HOST or _given(v, depth - 1) for v in operands)


# -- over the iterations of a loop
# ----------------------------------------------------------------------------------------


def _over_loop(flow: FunctionFlow, backward: Op) -> Summed | None:
    """A total or list that is filled with one loss an iteration and walked behind the loop, or every so often in it."""
    chain = _linear_chain(backward)
    for op in chain:
        for user in (op, *(s.op for s in op.stores)):
            added = _added(op, user)
            if added is None or not _collects(op, user, backward):
                continue
            first = _pass_in_loop(flow, added, user)
            if first is not None:
                over = "batches" if _over_batches(user) else "pieces" if _over_pieces(flow, user) else "loop"
                return Summed(backward, first, over, user)
    return None


def _linear_chain(backward: Op) -> list[Op]:
    """The sums between the backward and its terms, and the containers that these come from."""
    root = backward.receiver or Value(defs=tuple(backward.inputs))  # of a return: what is returned

    def step(op: Op) -> list[Op]:
        return [i for i in op.inputs if linear(i) or _holder(i) or i.name in ("read", "iter", "store", "bind")]

    starts = [d for d in root.defs if linear(d) or _holder(d) or d.name == "read"]
    return sorted(closure(starts, step, 200), key=lambda op: op.order)


def _holder(op: Op) -> bool:
    return op.name in ("literal.list", "literal.dict", "comprehension")


def _added(op: Op, user: Op) -> Value | None:
    """What one iteration adds: the other operand of a running total, the member stored in a container."""
    if user is not op:
        return next((s.value for s in op.stores if s.op is user and fact(s.value) is not Fact.NO), None)
    if op.name == "arith" and op.loops and _comes_round(op):
        terms = [a.value for a in op.arguments if not any(_reaches(d, op) for d in a.value.defs)]
        return next((v for v in terms if fact(v) is not Fact.NO), None)
    return None


def _comes_round(op: Op) -> bool:
    return op.carried or op in set(closure(op.inputs, lambda o: o.inputs if linear(o) else (), 50))


def _reaches(op: Op, target: Op) -> bool:
    return target in set(closure([op], lambda o: o.inputs if linear(o) else (), 50))


def _collects(op: Op, user: Op, backward: Op) -> bool:
    """Does the collection span several iterations before the backward runs?"""
    if len(user.loops) > len(backward.loops):
        return user.loops[: len(backward.loops)] == backward.loops
    every = len(backward.branches) > len(user.branches)  # `if (i + 1) % k == 0: total.backward()`
    lasting = user is op or len(op.loops) < len(user.loops)  # a list that is made before the loop
    return lasting and user.loops == backward.loops and every


def _pass_in_loop(flow: FunctionFlow, added: Value, user: Op) -> Op | None:
    """The forward pass of the same iteration that the term's graph goes through; None where iterations share a pass or
    hand state on."""
    passes = [op for maker in added.defs for op in upstream(maker) if _is_forward(flow, op)]
    own = [op for op in passes if op.loops[: len(user.loops)] == user.loops]
    outside = [op for op in passes if op not in own]
    if not own or outside or any(_recurrent(op) for op in own):
        return None
    members = added.elements if isinstance(added.elements, tuple) else (added,)
    scalar = all(map(_is_scalar, members)) or any(op.name == "call" for op in own)
    return min(own, key=lambda op: op.order) if scalar else None


def _is_scalar(value: Value, depth: int = 3) -> bool:
    """Is it one number: by its own fact, or as a weighted sum of such?"""
    if value.scalar is Fact.YES or depth == 0 or len(value.defs) != 1:
        return value.scalar is Fact.YES
    (made,) = value.defs
    terms = [i.value for i in made.inputs if i.value.kind is Kind.TENSOR] if made.name == "arith" else []
    return bool(terms) and linear(made) and all(_is_scalar(term, depth - 1) for term in terms)


def _is_forward(flow: FunctionFlow, op: Op) -> bool:
    """A forward pass that records a graph: a module's, a custom function's, one in a project function, or a call of
    something unknown whose result is the prediction that a loss is computed from."""
    if op.name == "?call":
        return not (op.callee or "").startswith("?.") and any(map(_is_loss, op.consumers))
    return op.name in PASSES and op.value.graph is not Fact.NO and not is_criterion(op) and works(flow, op)


def _is_loss(op: Op) -> bool:
    return op.name == "module" and is_criterion(op) or op.name.startswith("torch.") and functional_loss(op.name)


def _recurrent(op: Op) -> bool:
    """Does an earlier iteration's result of the pass come in again?"""
    return op.carried or op in set(closure(op.inputs, lambda o: o.inputs if o.passes else (), 300))


def _over_batches(user: Op) -> bool:
    """Does the loop run over a loader's batches?"""
    inner = [op for op in closure([user], lambda o: o.inputs, 400) if op.name == "batch"]
    return any(len(op.loops) <= len(user.loops) for op in inner)


def _over_pieces(flow: FunctionFlow, user: Op) -> bool:
    """Does the loop run over the pieces that a batch was cut into, here or by a helper, to be run one by one?"""
    members = [op for op in closure([user], lambda o: o.inputs, 400) if op.name == "iter"]
    sources = list(
        closure([i for op in members for i in op.inputs], lambda o: o.inputs if o.name in HANDED else (), 60)
    )
    inner = [applied_flow(flow, op) for op in sources if op.name == "call"]
    return any(map(_cuts, sources)) or any(_returns_pieces(helper) for helper in inner if helper is not None)


def _returns_pieces(helper: FunctionFlow) -> bool:
    given = [maker for value in helper.frame.returns for maker in value.defs]
    return any(map(_cuts, closure(given, lambda o: o.inputs if o.name in HANDED else (), 60)))


def _cuts(op: Op) -> bool:
    """Does it cut data into pieces: neither a text, nor what a forward pass may have given?"""
    name = ((op.callee or "") if op.name == "?call" else op.name).rpartition(".")[2]
    if name not in ("chunk", "split", "tensor_split") or not op.arguments:
        return False
    if any(isinstance(a.value.const, str) for a in op.arguments):
        return False
    return not any(
        o.name in PASSES or o.name == "?call" and not _on_data(o) for o in closure(op.inputs, lambda o: o.inputs, 60)
    )


def _on_data(op: Op) -> bool:
    return (op.callee or "").startswith("?.")


# -- over the terms of one sum
# --------------------------------------------------------------------------------------------


def _over_terms(flow: FunctionFlow, backward: Op) -> Summed | None:
    """`loss = loss_a + loss_b` where the two share no forward pass and no trainable input."""
    root = backward.receiver or Value()
    if len(root.defs) != 1:
        return None
    groups = _grouped(flow, [_reached(term) for term in _terms(root.defs[0], 0)])
    return Summed(backward, _latest(groups), "terms", root.defs[0]) if len(groups) > 1 else None


def _latest(groups: list[set[Op]]) -> Op:
    return max((min(g, key=lambda op: op.order) for g in groups), key=lambda op: op.order)


def _grouped(flow: FunctionFlow, reaches: list[set[Op]]) -> list[set[Op]]:
    """The forward passes in each of several graphs; graphs that meet in one are put together."""
    groups: list[set[Op]] = []
    for every in reaches:
        passes = {op for op in every if _is_forward(flow, op)}
        touching = [g for g in groups if g & every]
        groups = [g for g in groups if g not in touching]
        if passes or touching:
            groups.append(passes.union(*touching))
    return groups


def _reached(makers: Iterable[Op]) -> set[Op]:
    return {op for maker in makers for op in upstream(maker)}


def _terms(op: Op, depth: int) -> list[tuple[Op, ...]]:
    """What makes each term of a sum: one operation, or several of which a branch has chosen one."""
    if depth > 20 or not linear(op) or op.carried:
        return [(op,)]
    found: list[tuple[Op, ...]] = []
    for value in _operands(op):
        if value.kind is not Kind.HOST and value.graph is not Fact.NO:
            found += _terms(value.defs[0], depth + 1) if len(value.defs) == 1 else [value.defs]
    return found or [(op,)]


def _operands(op: Op) -> list[Value]:
    given = [*(a.value for a in op.arguments), *([op.receiver] if op.receiver is not None else [])]
    return [value for value in given if value.defs]


# -- over the members of a returned collection
# ------------------------------------------------------------------------------


def returned_terms(flow: FunctionFlow) -> Iterator[Summed]:
    """A function that returns a total over a loop's passes, or a dict or list of losses which share no pass, for a
    caller that sums and backpropagates."""
    if not flow.info.name or flow.info.name == "forward":
        return
    for back in flow.named("return"):
        total = _over_loop(flow, back)
        caller = _summing_caller(flow) if total is not None else None
        if total is not None and caller is not None:
            yield Summed(caller, total.later, total.over, total.place)
            return
        members = back.value.elements
        values = list(members.values()) if isinstance(members, dict) else list(members or ())
        losses = [v for v in values if v.scalar is Fact.YES and fact(v) is not Fact.NO]
        if len(losses) < 2:
            continue
        groups = _grouped(flow, [_reached(v.defs) for v in losses])
        caller = _summing_caller(flow) if len(groups) > 1 else None
        if caller is not None:
            later = _latest(groups)
            yield Summed(caller, later, "terms", later)
            return


def _summing_caller(flow: FunctionFlow) -> Op | None:
    """The backward of a caller that walks a plain sum of what the function returns."""
    for site in flow.program.callers.sites(flow.info).calls:
        for backward in site.flow.named("backward"):
            walked = backward.receiver.defs if backward.receiver is not None else ()
            if site.op in walked or any(site.op in op.inputs for op in _linear_chain(backward)):
                return backward
    return None
