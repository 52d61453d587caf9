"""Weights: how much memory a value holds, by what it is, and whose storage it keeps alive."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import libcst as cst

from torchmemlint.flow.graph import Op, Sink, closure, fact
from torchmemlint.flow.patterns import number
from torchmemlint.flow.values import INTEGRAL, Fact, Kind, Value, known_members, replace

LIGHT_KINDS = frozenset({Kind.HOST, Kind.FUNCTION, Kind.CLASS, Kind.EXTERNAL})
HOLDING = frozenset({"comprehension", "store", "bind", "parameters", "state_dict"})  # the result holds its operands
OPAQUE = frozenset({"read", "call", "?call", "construct", "copy", "to", "cuda", "eval", "train"})  # may hold them
REDUCING = frozenset(
    f"torch.{name}" for name in "max min mean sum topk argmax argmin var std norm multinomial any all".split()
)
"""The result is much smaller than the operand."""
ROWWISE = frozenset(
    f"torch.{name}"
    for name in """cosine_similarity pairwise_distance cross_entropy nll_loss cosine_embedding_loss triplet_margin_loss
    triplet_margin_with_distance_loss margin_ranking_loss multi_margin_loss multilabel_margin_loss
    multilabel_soft_margin_loss ctc_loss""".split()
)
"""One number for each row, or one for all of them."""
ALONG = frozenset({"torch.mean", "torch.sum", "torch.logsumexp", "torch.linalg.norm", "torch.linalg.vector_norm"})
"""They leave a dimension out if they are given one."""
MODEL_SIZED = frozenset({Kind.MODULE, Kind.OPTIMIZER})


class Weight(IntEnum):
    """How much memory a value holds, by what it is."""

    NOTHING = 0  # Python data, a single element
    BATCH = 1  # data that a loader or a factory gave
    ACTIVATION = 2  # a result of a forward, its own bytes
    GRAPH = 3  # a result whose graph still holds the activations of its forward
    MODEL = 4  # weights: a module, its state, a checkpoint
    DATASET = 5  # grows with the number of rows or batches


def bound(bind: Op) -> Value:
    """The value that a binding binds, with the operations that made it."""
    return replace(bind.value, defs=tuple(bind.inputs))


def kept_by(op: Op) -> Sequence[Op]:
    """The operations whose storage the result of `op` keeps alive: of a container its members, of a view its base; a
    member read from a container does not keep the container."""
    if op.name in HOLDING or op.name.startswith("literal."):
        return op.inputs
    if op.name in OPAQUE and op.value.kind is not Kind.TENSOR and op.value.kind is not Kind.HOST:
        return op.inputs
    return list(op.value.shares)


def freed_before(value: Value, bind: Op, peak: Op) -> bool:
    """Has a backward call released the graph of `value` by the time that `peak` runs?"""

    def before(backward: Op) -> bool:
        if bind.order <= peak.order:
            return backward.order <= peak.order
        return backward.order > bind.order or backward.order <= peak.order

    return bool(value.defs) and all(any(before(b) for b in op.freed) for op in value.defs)


def weigh(value: Value, bind: Op, peak: Op) -> Weight:
    """The weight of what `bind` binds, at the time of `peak`."""
    if value.kind in LIGHT_KINDS:
        return Weight.NOTHING
    if value.kind in MODEL_SIZED or value.name in ("checkpoint", "state_dict"):
        return Weight.MODEL
    if _only_scalars(value):
        return Weight.NOTHING
    if any(_copies_weights(op) for op in value.defs):
        return Weight.MODEL
    if any(_grows(op) for op in value.defs):
        return Weight.DATASET
    if fact(value) is Fact.YES and not freed_before(value, bind, peak):
        return Weight.GRAPH
    if value.scalar is Fact.YES:
        return Weight.NOTHING
    if value.defs and all(op.name in REDUCING for op in value.defs) or value.dtype in INTEGRAL:
        return Weight.NOTHING
    if _from_forward(value):
        return Weight.ACTIVATION
    return Weight.BATCH if value.kind is Kind.TENSOR or value.name == "batch" else Weight.NOTHING


def _copies_weights(op: Op) -> bool:
    """A deep copy of a state dict, or a container of clones of a module's parameters."""
    if op.name == "copy":
        return any(source.name == "state_dict" for source in op.inputs)
    clones = [m for store in op.stores for m in store.value.defs if m.name == "torch.clone"]
    return any(o.name in ("parameters", "state_dict") for m in clones for o in closure([m], lambda o: o.inputs, 20))


def _only_scalars(value: Value) -> bool:
    """A tuple or dict of numbers and single elements."""
    members = known_members(value)
    return bool(members) and all(m.kind is Kind.HOST or m.scalar is Fact.YES for m in members)


def _from_forward(value: Value) -> bool:
    return any(op.name == "module" for op in closure(value.defs, on_device, 200))


def on_device(op: Op) -> Sequence[Op]:
    """The operands of an operation that stays in tensors; none where it turns them into Python data."""
    return op.inputs if Sink.HOST not in op.sunk and op.value.kind is not Kind.HOST else []


def _grows(op: Op) -> bool:
    """Does the result grow with a data set: members collected over a loop, all pairs of rows?"""
    sources = [op, *op.inputs] if op.name in ("torch.cat", "torch.stack", "read") else [op]
    if any(s.name == "comprehension" or s.name == "literal.list" and filled_in_loop(s) for s in sources):
        return any(o.name == "module" for s in sources for o in closure([s], lambda o: o.inputs, 200))
    return op.name == "torch.matmul" and len(op.arguments) == 2 and _all_pairs(op)


def takes_column(op: Op) -> bool:
    """`y[:, 1]`: one number of each row. The first and last of the second dimension may be tokens or time steps, whose
    features follow."""
    if op.name != "torch.getitem" or not isinstance(op.node, cst.Subscript) or len(op.node.slice) < 2:
        return False
    index = op.node.slice[-1].slice
    at = number(index.value) if isinstance(index, cst.Index) else None
    return isinstance(at, int) and at > 0


def filled_in_loop(op: Op) -> bool:
    """Does a loop that the container was made outside of put members into it?"""
    return any(len(s.op.loops) > len(op.loops) for s in op.stores)


def _all_pairs(op: Op) -> bool:
    """x @ x.T"""
    left, right = (set(closure(a.value.defs, kept_by, 500)) for a in op.arguments)
    return bool(left & right)
