"""Terms of a sum that stay bound behind it: products of all pairs that nothing needs again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint import knowledge
from torchmemlint.flow.graph import Op, closure
from torchmemlint.flow.liveness import Held, Weight, liveness
from torchmemlint.flow.values import Kind

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

PRODUCTS = frozenset({"torch.matmul", "torch.einsum", "torch.bmm", "torch.baddbmm"})
PEAKS = ("torch.softmax", "module", *PRODUCTS)
BOOKKEEPING = frozenset({"bind", "del"})


def terms_held(flow: FunctionFlow) -> tuple[Held, ...]:
    """The names of pairwise products that are dead over the softmax, product or module that uses their sum."""
    products = [bind for bind in flow.named("bind") if not bind.depth and _is_term(bind)]
    if not products:
        return ()
    known = liveness(flow)
    for peak in flow.named(*PEAKS):
        dead = [b for b in known.dead(peak) if b in products and b.order < peak.order and _used_by(b, peak)]
        if dead:
            held = (Held(bind.path or "", bind, peak, Weight.ACTIVATION, False) for bind in dead)
            return tuple(sorted(held, key=lambda h: h.bind.order))
    return ()


def _is_term(bind: Op) -> bool:
    """Is it a product of activations, or a project function's shift of one, that only sums take in?"""
    pairs = any(_pairwise(op) or (op.name == "call" and any(map(_from_product, op.inputs))) for op in bind.inputs)
    consumers = [user for op in bind.inputs for user in op.uses if user.name not in BOOKKEEPING]
    return pairs and bool(consumers) and all(_adds(user) for user in consumers)


def _pairwise(op: Op) -> bool:
    """A product of two computed values; one with a weight is a projection."""
    values = (op.receiver, *(a.value for a in op.arguments))
    tensors = [v for v in values if v is not None and v.kind is not Kind.HOST]
    members = [m for v in tensors for m in (v.elements if isinstance(v.elements, tuple) else (v,))]
    return op.name in PRODUCTS and len(members) == 2 and all(any(_computed(d) for d in m.defs) for m in members)


def _computed(op: Op) -> bool:
    return op.name not in ("load", "param")


def _from_product(op: Op) -> bool:
    return any(_pairwise(o) for o in closure([op], lambda o: o.inputs if o.name in ("argument", "arith") else (), 20))


def _adds(op: Op) -> bool:
    """An addition keeps neither of its operands for the backward."""
    if op.name == "arith" and isinstance(op.node, cst.BinaryOperation):
        return isinstance(op.node.operator, (cst.Add, cst.Subtract))
    fact = knowledge.operator(op.name) if op.name in ("torch.add", "torch.sub") else None
    return fact is not None and not fact.saves


def _used_by(bind: Op, peak: Op) -> bool:
    """Does the peak come behind the sum, and work on it or on what follows from it?"""
    sums: Iterator[Op] = (user for maker in bind.inputs for user in maker.uses if _adds(user))
    first = next(sums, None)
    return first is not None and first.order < peak.order and peak not in bind.inputs


__all__ = ["terms_held"]
