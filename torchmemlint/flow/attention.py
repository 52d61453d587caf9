"""Attention written out: softmax(q kᵀ · s [+ mask]) v as a chain of score-shaped operations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.axes import tokens_summed
from torchmemlint.flow.graph import Argument, Op, closure
from torchmemlint.flow.layout import sizes, units
from torchmemlint.flow.patterns import bare, dimension, input_of, is_module, maker, number, operands, sign, text_of
from torchmemlint.flow.values import Fact, Kind, Value

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

TURNS = frozenset({"transpose", "permute", "t", "T", "mT", "swapaxes", "movedim", "adjoint"})
PRODUCTS = frozenset({"matmul", "bmm", "einsum", "baddbmm"})
PASSING = frozenset({"dropout", "to", "type", "type_as", "float", "half", "bfloat16"})
MASKING = frozenset({"masked_fill", "masked_fill_", "where", "add_", "mul_", "div_", "add", "mul", "div"})
CARRYING = frozenset({"normalize", "unbind", "getitem", "index", "select", "chunk", "mul", "div"}) | PASSING | TURNS
LENGTH = 12  # operations between the product and the softmax


@dataclass
class Attention:
    """`product` makes the scores, `softmax` the weights, `result` uses them; `biased`: a learned or computed term of
    the scores' shape is added; `masks`: how many masks or terms are applied."""

    product: Op
    softmax: Op
    result: Op
    biased: bool = False
    masks: int = 0
    chain: list[Op] = field(default_factory=list)


def attention(flow: FunctionFlow, softmax: Op) -> Attention | None:
    """The attention around a softmax; None where there is none, or its scores or weights are used otherwise."""
    if flow.named("torch.scaled_dot_product_attention"):
        return None  # the written-out form is the fallback of the fused one
    result = _result(softmax)
    found = _scores(input_of(softmax))
    if result is None or found is None:
        return None
    product, chain, biased, masks = found
    if not _only_inside(chain, softmax, product) or not _turned(product, softmax, result):
        return None
    if any(units(value) for value in operands(product)):
        return None  # a single query: the scores are as small as the keys' length
    if _over_channels(product, softmax, result):
        return None  # the scores are channels by channels
    return Attention(product, softmax, result, biased, masks, chain)


def _over_channels(product: Op, softmax: Op, result: Op) -> bool:
    """Is it softmax(qᵀ k) vᵀ, or are the operands turned so that the tokens come last: attention among channels?"""
    values, last = operands(product), operands(result)
    if _sums_tokens(product):
        return True
    if len(values) != 2 or len(last) != 2 or bare(product) == "einsum":
        return False
    if any(_without_channels(value) for value in values):
        return True
    left_only = _is_turned(values[0]) and not _is_turned(values[1])
    if left_only and softmax in _behind(last[0]) and _is_turned(last[1]):
        return any(_kept_last(value) is True for value in values)
    return any(_kept_last(value) is False for value in values)


def _sums_tokens(product: Op) -> bool:
    """Do the names of the axes say that the scores are sums over tokens?"""
    values = [a.value for a in product.arguments] if bare(product) == "einsum" else operands(product)
    if bare(product) != "einsum":
        made = maker(values[0]) if values else None
        turned = made is not None and bare(made) in TURNS and made.receiver is not None
        left = made.receiver if made is not None and turned else values[0] if values else None
        return left is not None and tokens_summed(left, *((-2, -1) if turned else (-1, -2)))
    sides = _sides(product)
    if sides is None or not values:
        return False
    left_side, right_side, result = map(set, sides)
    summed, scored = (left_side & right_side) - result, (left_side & result) - right_side
    if len(summed) != 1 or len(scored) != 1:
        return False
    return tokens_summed(values[0], *(sides[0].index(index.pop()) - len(sides[0]) for index in (summed, scored)))


def _without_channels(value: Value) -> bool:
    """Is it one of `qkv.unbind(-1)`, whose last dimension holds the tokens?"""
    reached = closure(value.defs, lambda o: o.inputs if bare(o) in TURNS or o.name in ("item", "iter") else (), 10)
    unbound = [op for op in reached if bare(op) == "unbind"]
    return any(number(a.node) == -1 for op in unbound for a in op.arguments)


def _behind(value: Value) -> list[Op]:
    """The operation that made a value and those before it, through dropout and casts."""
    made = maker(value)
    found: list[Op] = []
    while made is not None and len(found) < 6:
        found.append(made)
        passes = bare(made) in PASSING or is_module(made, "Dropout", "Identity")
        before = input_of(made) if passes else None
        made = maker(before) if before is not None else None
    return found


def _kept_last(value: Value) -> bool | None:
    """Was it taken out of a `permute` of four or more dimensions that left the last one, the channels of a head, where
    it was? No: `qkv.permute(2, 0, 3, 4, 1)` puts the tokens last. None: no such permute is seen."""
    reached = closure(value.defs, lambda o: o.inputs if bare(o) in CARRYING or o.name in ("arith", "item") else (), 20)
    for op in reached:
        order = [number(n) for n in sizes(op.arguments) or () if isinstance(n, cst.BaseExpression)]
        if bare(op) == "permute" and len(order) >= 4 and None not in order:
            return order[-1] in (len(order) - 1, -1)
    return None


def is_softmax(op: Op) -> bool:
    """Is it torch's softmax, as function or module?"""
    return op.name == "torch.softmax" or is_module(op, "Softmax")


def _result(softmax: Op) -> Op | None:
    """The product that alone uses the weights, after dropout and casts."""
    current = softmax
    for _ in range(8):
        users = current.consumers
        if len(users) != 1:
            return None
        user = users[0]
        if bare(user) in PRODUCTS:
            return user
        operands_of_einsum = user.name in ("literal.tuple", "literal.list") and [bare(u) for u in user.uses] == [
            "einsum"
        ]
        passed = bare(user) in PASSING | TURNS or is_module(user, "Dropout", "Identity") or _permuted(user)
        if not (passed or operands_of_einsum):
            return None
        current = user
    return None


def _scores(value: Value | None) -> tuple[Op, list[Op], bool, int] | None:
    """Back from the softmax's input to the product, over scaling, masking and casts; branches may mask or not."""
    chain: list[Op] = []
    todo = list(value.defs) if value is not None else []
    products: list[Op] = []
    biased, masks = False, 0
    while todo and len(chain) < LENGTH:
        op = todo.pop()
        if op in chain or op in products:
            continue
        if bare(op) in PRODUCTS:
            products.append(op)
            continue
        following = _step(op)
        if following is None:
            return None
        chain.append(op)
        onward, term = following
        biased = biased or term
        masks += bare(op) in ("masked_fill", "masked_fill_", "where") or term
        todo += onward.defs
    if not products or len(products) > 2 or todo:
        return None
    return products[-1], chain, biased or len(products) > 1, masks


def _step(op: Op) -> tuple[Value, bool] | None:
    """The operand that carries the scores, and whether another term of their shape joins in."""
    if op.name == "arith" or bare(op) in MASKING and bare(op) not in ("masked_fill", "masked_fill_", "where"):
        return _arithmetic(op)
    name = bare(op)
    if name in ("masked_fill", "masked_fill_") and op.receiver is not None:
        return op.receiver, False
    if name == "where":
        carriers = [a for a in operands(op)[1:] if _leads_to_product(a)]
        return (carriers[0], False) if len(carriers) == 1 else None
    if name in PASSING and op.receiver is not None:
        return op.receiver, False
    return None


def _arithmetic(op: Op) -> tuple[Value, bool] | None:
    kind = sign(op)
    values = operands(op)
    if kind not in ("+", "*", "/", "-") or len(values) != 2:
        return None
    carriers = [v for v in values if _leads_to_product(v)]
    if len(carriers) == 2 and kind == "+":
        merged = carriers[0]
        return Value(kind=merged.kind, defs=carriers[0].defs + carriers[1].defs), True
    if len(carriers) != 1 or kind == "-" and carriers[0] is not values[0]:
        return None
    other = next(v for v in values if v is not carriers[0])
    learned = other.graph is Fact.YES or bool(other.params) and other.kind is Kind.TENSOR
    return carriers[0], kind in ("+", "-") and learned


def _leads_to_product(value: Value, depth: int = 8) -> bool:
    for op in value.defs:
        if bare(op) in PRODUCTS:
            return True
        passes = depth > 0 and (op.name == "arith" or bare(op) in MASKING | PASSING)
        if passes and any(_leads_to_product(v, depth - 1) for v in operands(op)):
            return True
    return False


def _only_inside(chain: list[Op], softmax: Op, product: Op) -> bool:
    """Are the scores used by nothing but the chain, and is nothing of it returned or stored?"""
    inside = {*chain, softmax, product}
    return all(set(_true_consumers(op)) <= inside for op in (*chain, product))


def _true_consumers(op: Op) -> list[Op]:
    return [u for u in op.consumers if not (u.name == "host" or bare(u) in ("size", "dim", "numel"))]


def _turned(product: Op, softmax: Op, result: Op) -> bool:
    """Is it q kᵀ and weights · v: one operand transposed and the last dimension normalised, or both einsums?"""
    if bare(product) == "einsum" or bare(result) == "einsum":
        both = bare(product) == bare(result) == "einsum" and _bilinear(product) and _bilinear(result)
        return both and not _maps_one_axis(product) and _sums_normalised(softmax, result)
    axis = _axis(softmax)
    last = dimension(softmax) if softmax.name != "module" else None
    if axis is not None and last is not None and last not in (-1, 2, 3):
        return False
    return any(_is_turned(v) for v in operands(product))


def _axis(softmax: Op) -> Argument | None:
    """The argument that says which dimension is normalised."""
    if softmax.name != "module":
        return softmax.argument(0, "dim")
    made = maker(softmax.receiver) if softmax.receiver is not None else None
    return made.argument(0, "dim") if made is not None else None


def _is_turned(value: Value) -> bool:
    made = maker(value)
    return made is not None and (
        bare(made) in TURNS
        or any(bare(o) in TURNS for o in made.inputs[:1] if bare(made) in ("contiguous", "view", "reshape"))
    )


def _bilinear(op: Op) -> bool:
    """Is it an einsum of two operands, contracting an index that the result has not?"""
    sides = _sides(op)
    return sides is not None and bool((set(sides[0]) & set(sides[1])) - set(sides[2]))


def _sides(op: Op) -> tuple[str, str, str] | None:
    """The indices of both operands and of the result of an einsum."""
    equation = text_of(op.receiver_node)
    if equation is None or "->" not in equation:
        return None
    given, result = equation.replace(" ", "").split("->")
    sides = given.split(",")
    return (sides[0], sides[1], result) if len(sides) == 2 else None


def _maps_one_axis(product: Op) -> bool:
    """Is one operand a matrix that mixes the heads of scores that are made already ("bhij,hg->bgij")?"""
    sides = _sides(product)
    if sides is None:
        return False
    for matrix, scores in (sides[:2], sides[1::-1]):
        summed = (set(matrix) & set(scores)) - set(sides[2])
        if len(matrix) == 2 and len(summed) == 1 and len(scores) > 2:
            old = summed.pop()
            if sides[2] == scores.replace(old, matrix.replace(old, "")):
                return True
    return False


def _sums_normalised(softmax: Op, result: Op) -> bool:
    """Is the index over which the softmax runs the one that the product with the values sums? Unknown counts as yes."""
    sides, axis = _sides(result), _axis(softmax)
    at = number(axis.node) if axis is not None else -1 if softmax.name == "module" else None
    places = [i for i, a in enumerate(result.arguments[:2]) if softmax in _behind(a.value)]
    if sides is None or not isinstance(at, int) or not places:
        return True
    weights = sides[places[0]]
    return not -len(weights) <= at < len(weights) or weights[at] not in sides[2]


def _permuted(op: Op) -> bool:
    """Is it einops' `rearrange` that only changes the order of the dimensions?"""
    pattern = text_of(op.arguments[1].node) if op.callee == "einops.rearrange" and len(op.arguments) > 1 else None
    before, arrow, after = (pattern or "").partition("->")
    return bool(arrow) and "(" not in before + after and sorted(before.split()) == sorted(after.split())
