"""Activations and normalisations written out of primitives, recognised by their operator graph."""

from __future__ import annotations

import math
from dataclasses import dataclass

import libcst as cst

from torchmemlint.flow.graph import Op
from torchmemlint.flow.norms import VIEWS, layer_norm, rms_norm
from torchmemlint.flow.patterns import (
    argument_of,
    back,
    bare,
    close,
    equal,
    is_module,
    maker,
    nodes,
    number,
    operands,
    pair_of,
    sign,
)
from torchmemlint.flow.values import Fact, Kind, Value

SHRINKING = frozenset({"sum", "mean", "norm", "logsumexp", "amax", "amin", "prod", "var", "std"})


@dataclass(frozen=True)
class Formula:
    """`name` of the built-in; `source`: the tensor it is applied to; `node`: its expression; `exact`: term by term the
    built-in's formula; `parts`: the operations it is made of, the last result not among them."""

    name: str
    source: Value
    node: cst.BaseExpression | None
    parts: tuple[Op, ...]
    exact: bool = True


def formula(op: Op) -> Formula | None:
    """The built-in that the operation completes; None where it is none, or where a part is used elsewhere."""
    for recognise in (_gated, _gelu, _softplus, _sigmoid, _softmax, _norm):
        found = recognise(op)
        if (
            found is not None
            and found.source.scalar is not Fact.YES
            and all(_inner(part, op, found.parts) for part in found.parts)
        ):
            return found
    return None


def reduced(value: Value, depth: int = 6) -> bool:
    """Is it made of results of reductions alone, a number a row?"""
    made = maker(value)
    if made is None or depth == 0:
        return False
    if bare(made) in SHRINKING:
        return bool(made.arguments)
    if made.name != "arith" and bare(made) not in ("cat", "stack", "neg"):
        return False
    members = [m for v in operands(made) for m in (v.elements if isinstance(v.elements, tuple) else (v,))]
    members = members or [op.value for op in made.inputs]
    tensors = [m for m in members if m.kind is Kind.TENSOR]
    return bool(tensors) and all(reduced(m, depth - 1) for m in tensors)


def _inner(part: Op, last: Op, parts: tuple[Op, ...]) -> bool:
    return all(user is last or user in parts for user in part.consumers)


def _norm(op: Op) -> Formula | None:
    found = layer_norm(op) or rms_norm(op)
    return Formula(*found[:3], (), found[3]) if found is not None else None


def _gated(op: Op) -> Formula | None:
    """x · sigmoid(x), x · tanh(softplus(x))."""
    pair = pair_of(op, "*")
    for x, gate in ((pair[0], pair[1]), (pair[1], pair[0])) if pair else ():
        made = maker(gate[0])
        inner = argument_of(made) if made is not None else None
        if made is None or inner is None:
            continue
        if (bare(made) == "sigmoid" or is_module(made, "Sigmoid")) and equal(x, inner):
            return Formula("silu", x[0], x[1], (made,))
        soft = maker(inner[0]) if bare(made) == "tanh" else None
        below = argument_of(soft) if soft is not None and bare(soft) == "softplus" and not soft.arguments else None
        if soft is not None and below is not None and equal(x, below):
            return Formula("mish", x[0], x[1], (made, soft))
    return None


def _factors(value: Value, node: cst.BaseExpression) -> list[tuple[Value, cst.BaseExpression]]:
    """The factors of a product, divisions by numbers included as themselves; a value that is none alone."""
    made = maker(value)
    if made is not None and made.node is node and sign(made) in ("*", "/"):
        pair = pair_of(made, sign(made)) or []
        if sign(made) == "*" and pair:
            return [f for part in pair for f in _factors(*part)]
        if pair and number(pair[1][1]) == 2:
            return [*_factors(*pair[0]), (pair[1][0], pair[1][1])]
    return [(value, node)]


def _products(op: Op) -> list[Op]:
    """The multiplications nested in `op`."""
    found = []
    for o in op.inputs:
        if sign(o) in ("*", "/") and o.node in nodes(op):
            found += [o, *_products(o)]
    return found


def _gelu(op: Op) -> Formula | None:
    """0.5 · x · (1 + erf(x / √2)), and the tanh form."""
    if sign(op) not in ("*", "/"):
        return None
    pair = pair_of(op, sign(op))
    factors = [f for part in pair for f in _factors(*part)] if pair else []
    halves = [f for f in factors if number(f[1]) in (0.5, 2)]
    rest = [f for f in factors if f not in halves]
    if len(halves) != 1 or len(rest) != 2:
        return None
    for x, cdf in ((rest[0], rest[1]), (rest[1], rest[0])):
        found = _cumulative(cdf[0], x)
        if found is not None:
            name, parts = found
            return Formula(name, x[0], x[1], (*_products(op), *parts))
    return None


def _cumulative(value: Value, x: tuple[Value, cst.BaseExpression]) -> tuple[str, tuple[Op, ...]] | None:
    """1 + erf(x / √2) or 1 + tanh(√(2/π) · (x + 0.044715 x³))."""
    added = maker(value)
    pair = pair_of(added, "+") if added is not None else None
    curve = next((p for p in pair or () if number(p[1]) is None), None)
    if added is None or curve is None or not any(number(p[1]) == 1 for p in pair or ()):
        return None
    made = maker(curve[0])
    inner = argument_of(made) if made is not None else None
    if made is None or inner is None:
        return None
    if bare(made) == "erf":
        scaled = maker(inner[0])
        return ("gelu", (added, made, scaled)) if scaled is not None and _over_root_two(scaled, x) else None
    if bare(made) == "tanh":
        parts = _cubic(inner[0], x)
        return ("gelu-tanh", (added, made, *parts)) if parts is not None else None
    return None


def _over_root_two(op: Op, x: tuple[Value, cst.BaseExpression]) -> bool:
    for kind, wanted in (("/", math.sqrt(2)), ("*", 1 / math.sqrt(2))):
        pair = pair_of(op, kind)
        if pair and equal(pair[0], x) and close(pair[1][1], wanted):
            return True
    return False


def _cubic(value: Value, x: tuple[Value, cst.BaseExpression]) -> tuple[Op, ...] | None:
    """√(2/π) · (x + 0.044715 · x³)."""
    outer = maker(value)
    pair = pair_of(outer, "*") if outer is not None else None
    inner = next((maker(p[0]) for p in pair or () if number(p[1]) is None), None)
    if outer is None or inner is None or not any(close(p[1], math.sqrt(2 / math.pi)) for p in pair or ()):
        return None
    terms = pair_of(inner, "+")
    cube = next((maker(p[0]) for p in terms or () if not equal(p, x)), None)
    factors = pair_of(cube, "*") if cube is not None else None
    power = next((maker(p[0]) for p in factors or () if number(p[1]) is None), None)
    if cube is None or power is None or not any(close(p[1], 0.044715) for p in factors or ()):
        return None
    base = operands(power)
    third = (
        sign(power) == "**" and len(base) == 2 and number(nodes(power)[1]) == 3 and equal((base[0], nodes(power)[0]), x)
    )
    return (outer, inner, cube, power) if third else None


def _softplus(op: Op) -> Formula | None:
    """log(1 + exp(x)), log1p(exp(x))."""
    made = maker(op.receiver) if bare(op) in ("log", "log1p") and op.receiver is not None else None
    if made is None:
        return None
    parts: tuple[Op, ...] = ()
    grown = made
    if bare(op) == "log":
        pair = pair_of(made, "+")
        inner = next((maker(p[0]) for p in pair or () if number(p[1]) is None), None)
        if inner is None or not any(number(p[1]) == 1 for p in pair or ()):
            return None
        parts, grown = (made,), inner
    below = argument_of(grown)
    if bare(grown) != "exp" or below is None:
        return None
    return Formula("softplus", below[0], below[1], (*parts, grown))


def _sigmoid(op: Op) -> Formula | None:
    """1 / (1 + exp(-x))."""
    pair = pair_of(op, "/")
    added = maker(pair[1][0]) if pair and number(pair[0][1]) == 1 else None
    terms = pair_of(added, "+") if added is not None else None
    grown = next((maker(p[0]) for p in terms or () if number(p[1]) is None), None)
    if added is None or grown is None or bare(grown) != "exp" or not any(number(p[1]) == 1 for p in terms or ()):
        return None
    negated = maker(grown.receiver) if grown.receiver is not None else None
    if (
        negated is None
        or sign(negated) != "neg"
        or not isinstance(negated.node, cst.UnaryOperation)
        or not negated.inputs
    ):
        return None
    return Formula("sigmoid", negated.inputs[0].value, negated.node.expression, (added, grown, negated))


def _softmax(op: Op) -> Formula | None:
    """exp(x) / sum(exp(x)) along a dimension, the greatest subtracted or not."""
    pair = pair_of(op, "/")
    grown = maker(pair[0][0]) if pair else None
    total = back(pair[1][0], VIEWS) if pair else None
    below = argument_of(grown) if grown is not None else None
    if grown is None or total is None or below is None or bare(grown) != "exp" or bare(total) != "sum":
        return None
    if total.receiver is None or total.receiver.defs != (grown,) or not total.arguments:
        return None
    return Formula("softmax", below[0], None, (grown, total))
