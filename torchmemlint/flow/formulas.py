"""Activations and normalisations written out of primitives, recognised by their operator graph."""

from __future__ import annotations

import math
from dataclasses import dataclass

import libcst as cst

from torchmemlint.flow.graph import Op
from torchmemlint.flow.lean import same_code
from torchmemlint.flow.patterns import back, bare, close, maker, nodes, number, operands, sign
from torchmemlint.flow.values import Fact, Value

VIEWS = frozenset({"view", "reshape", "unsqueeze"})


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
    for recognise in (_gated, _gelu, _softplus, _sigmoid, _layer_norm, _rms_norm):
        found = recognise(op)
        if (
            found is not None
            and found.source.scalar is not Fact.YES
            and all(_inner(part, op, found.parts) for part in found.parts)
        ):
            return found
    return None


def _inner(part: Op, last: Op, parts: tuple[Op, ...]) -> bool:
    return all(user is last or user in parts for user in part.consumers)


def _pair(op: Op, kind: str) -> list[tuple[Value, cst.BaseExpression]] | None:
    """Two operands with their nodes, of an operation that isn't in place."""
    values, where = operands(op), nodes(op)
    if sign(op) != kind or len(values) != 2 or len(where) != 2 or isinstance(op.node, cst.AugAssign):
        return None
    return list(zip(values, where))


def _equal(a: tuple[Value, cst.BaseExpression | None], b: tuple[Value, cst.BaseExpression | None]) -> bool:
    """The same tensor, written the same: several outputs of one operation are not taken for each other."""
    if a[1] is None or b[1] is None:
        return False
    return bool(a[0].defs) and a[0].defs == b[0].defs and same_code(a[1], b[1])


def _argument(op: Op) -> tuple[Value, cst.BaseExpression | None] | None:
    return (op.receiver, op.receiver_node) if op.receiver is not None else None


def _gated(op: Op) -> Formula | None:
    """x · sigmoid(x), x · tanh(softplus(x))."""
    pair = _pair(op, "*")
    for x, gate in ((pair[0], pair[1]), (pair[1], pair[0])) if pair else ():
        made = maker(gate[0])
        inner = _argument(made) if made is not None else None
        if made is None or inner is None:
            continue
        if bare(made) == "sigmoid" and _equal(x, inner):
            return Formula("silu", x[0], x[1], (made,))
        soft = maker(inner[0]) if bare(made) == "tanh" else None
        below = _argument(soft) if soft is not None and bare(soft) == "softplus" and not soft.arguments else None
        if soft is not None and below is not None and _equal(x, below):
            return Formula("mish", x[0], x[1], (made, soft))
    return None


def _factors(value: Value, node: cst.BaseExpression) -> list[tuple[Value, cst.BaseExpression]]:
    """The factors of a product, divisions by numbers included as themselves; a value that is none alone."""
    made = maker(value)
    if made is not None and made.node is node and sign(made) in ("*", "/"):
        pair = _pair(made, sign(made)) or []
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
    pair = _pair(op, sign(op))
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
    pair = _pair(added, "+") if added is not None else None
    curve = next((p for p in pair or () if number(p[1]) is None), None)
    if added is None or curve is None or not any(number(p[1]) == 1 for p in pair or ()):
        return None
    made = maker(curve[0])
    inner = _argument(made) if made is not None else None
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
        pair = _pair(op, kind)
        if pair and _equal(pair[0], x) and close(pair[1][1], wanted):
            return True
    return False


def _cubic(value: Value, x: tuple[Value, cst.BaseExpression]) -> tuple[Op, ...] | None:
    """√(2/π) · (x + 0.044715 · x³)."""
    outer = maker(value)
    pair = _pair(outer, "*") if outer is not None else None
    inner = next((maker(p[0]) for p in pair or () if number(p[1]) is None), None)
    if outer is None or inner is None or not any(close(p[1], math.sqrt(2 / math.pi)) for p in pair or ()):
        return None
    terms = _pair(inner, "+")
    cube = next((maker(p[0]) for p in terms or () if not _equal(p, x)), None)
    factors = _pair(cube, "*") if cube is not None else None
    power = next((maker(p[0]) for p in factors or () if number(p[1]) is None), None)
    if cube is None or power is None or not any(close(p[1], 0.044715) for p in factors or ()):
        return None
    base = operands(power)
    third = (
        sign(power) == "**"
        and len(base) == 2
        and number(nodes(power)[1]) == 3
        and _equal((base[0], nodes(power)[0]), x)
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
        pair = _pair(made, "+")
        inner = next((maker(p[0]) for p in pair or () if number(p[1]) is None), None)
        if inner is None or not any(number(p[1]) == 1 for p in pair or ()):
            return None
        parts, grown = (made,), inner
    below = _argument(grown)
    if bare(grown) != "exp" or below is None:
        return None
    return Formula("softplus", below[0], below[1], (*parts, grown))


def _sigmoid(op: Op) -> Formula | None:
    """1 / (1 + exp(-x))."""
    pair = _pair(op, "/")
    added = maker(pair[1][0]) if pair and number(pair[0][1]) == 1 else None
    terms = _pair(added, "+") if added is not None else None
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


def _layer_norm(op: Op) -> Formula | None:
    """(x − mean) / sqrt(var + ε)."""
    pair = _pair(op, "/")
    centred = _centred(maker(pair[0][0])) if pair else None
    terms = _pair(centred, "-") if centred is not None else None
    mean = back(terms[1][0], VIEWS) if terms else None
    spread = _spread(maker(pair[1][0]) if pair else None)
    if centred is None or terms is None or mean is None or bare(mean) != "mean" or spread is None:
        return None
    measured, roots = spread
    exact = bare(measured) == "var" and bool(roots)
    return Formula("layer_norm", terms[0][0], terms[0][1], (), exact)


def _centred(op: Op | None) -> Op | None:
    """The difference, also where a weight is multiplied in before the division."""
    factors = _pair(op, "*") if op is not None else None
    return next((m for f in factors if (m := maker(f[0])) is not None and sign(m) == "-"), None) if factors else op


def _spread(op: Op | None) -> tuple[Op, tuple[Op, ...]] | None:
    """var or std, with an ε inside or outside of the root."""
    roots: list[Op] = []
    for _ in range(6):
        if op is None:
            return None
        if bare(op) in ("var", "std"):
            return op, tuple(roots)
        if bare(op) in VIEWS and op.receiver is not None:
            op = maker(op.receiver)
        elif bare(op) == "sqrt" or sign(op) == "+":
            roots.append(op)
            tensors = [v for v in operands(op) if v.defs]
            op = next((maker(v) for v in tensors if maker(v) is not None), None)
        else:
            return None
    return None


def _rms_norm(op: Op) -> Formula | None:
    """x · rsqrt(mean(x²) + ε)."""
    pair = _pair(op, "*")
    for x, scale in ((pair[0], pair[1]), (pair[1], pair[0])) if pair else ():
        root = maker(scale[0])
        added = (
            maker(root.receiver) if root is not None and bare(root) == "rsqrt" and root.receiver is not None else None
        )
        mean = (
            next((maker(v) for v in operands(added) if v.defs), None)
            if added is not None and sign(added) == "+"
            else None
        )
        squared = (
            maker(mean.receiver) if mean is not None and bare(mean) == "mean" and mean.receiver is not None else None
        )
        below = operands(squared)[0] if squared is not None and operands(squared) else None
        if (
            squared is not None
            and (bare(squared) in ("pow", "square") or sign(squared) == "**")
            and below is not None
            and below.defs == x[0].defs
        ):
            return Formula("rms_norm", x[0], x[1], ())
    return None
