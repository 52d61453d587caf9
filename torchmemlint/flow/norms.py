"""Layer norm and root-mean-square norm written out of primitives."""

from __future__ import annotations

import libcst as cst

from torchmemlint.flow.graph import Op
from torchmemlint.flow.patterns import back, bare, dimension, maker, operands, pair_of, sign
from torchmemlint.flow.values import Value

VIEWS = frozenset({"view", "reshape", "unsqueeze"})
Norm = tuple[str, Value, "cst.BaseExpression | None", bool]
"""The built-in's name, the tensor it is applied to, that tensor's expression, whether the formula is just its."""


def layer_norm(op: Op) -> Norm | None:
    """(x − mean) / sqrt(var + ε)."""
    pair = pair_of(op, "/")
    centred = _centred(maker(pair[0][0])) if pair else None
    terms = pair_of(centred, "-") if centred is not None else None
    mean = back(terms[1][0], VIEWS) if terms else None
    spread = _spread(maker(pair[1][0]) if pair else None)
    if centred is None or terms is None or mean is None or bare(mean) != "mean" or spread is None:
        return None
    measured, roots = spread
    if dimension(mean) == 0:
        return None  # over the batch
    exact = bare(measured) in ("var", "mean") and bool(roots)
    return "layer_norm", terms[0][0], terms[0][1], exact


def _centred(op: Op | None) -> Op | None:
    """The difference, also where a weight is multiplied in before the division."""
    factors = pair_of(op, "*") if op is not None else None
    return next((m for f in factors if (m := maker(f[0])) is not None and sign(m) == "-"), None) if factors else op


def _spread(op: Op | None) -> tuple[Op, tuple[Op, ...]] | None:
    """var or std, with an ε inside or outside of the root."""
    roots: list[Op] = []
    for _ in range(6):
        if op is None:
            return None
        if bare(op) in ("var", "std") or _mean_of_squared_differences(op):
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


def _mean_of_squared_differences(op: Op) -> bool:
    squared = maker(op.receiver) if bare(op) == "mean" and op.receiver is not None else None
    below = _squared(squared)
    made = maker(below) if below is not None else None
    return made is not None and sign(made) == "-"


def rms_norm(op: Op) -> Norm | None:
    """x · rsqrt(mean(x²) + ε), x / sqrt(mean(x²) + ε), with a weight among the factors or not."""
    kind = sign(op)
    pair = pair_of(op, kind) if kind in ("*", "/") else None
    if pair is None:
        return None
    orders = [(pair[0], pair[1]), (pair[1], pair[0])] if kind == "*" else [(pair[0], pair[1])]
    for x, scale in orders:
        root = maker(scale[0])
        if root is None or bare(root) != ("rsqrt" if kind == "*" else "sqrt"):
            continue
        below = _mean_of_squares(root)
        given = next((f for f in _factors(x) if below is not None and f[0].defs == below.defs), None)
        if given is not None:
            return "rms_norm", given[0], given[1], True
    return None


def _mean_of_squares(root: Op) -> Value | None:
    """What is squared and averaged under a root, an ε added or not."""
    inner = maker(root.receiver) if root.receiver is not None else None
    if inner is not None and sign(inner) == "+":
        inner = next(
            (maker(v) for v in operands(inner) if v.defs and maker(v) is not None and bare(v.defs[0]) == "mean"), None
        )
    squared = maker(inner.receiver) if inner is not None and bare(inner) == "mean" and inner.receiver else None
    return _squared(squared)


def _squared(op: Op | None) -> Value | None:
    """What the operation squares."""
    if op is None or not operands(op):
        return None
    square = bare(op) == "square" or sign(op) == "**" or bare(op) == "pow"
    return operands(op)[0] if square else None


def _factors(part: tuple[Value, cst.BaseExpression]) -> list[tuple[Value, cst.BaseExpression]]:
    made = maker(part[0])
    pair = pair_of(made, "*") if made is not None and made.node is part[1] else None
    return [part, *(pair or ())]
