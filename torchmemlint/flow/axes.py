"""Axes by name: what einops' `rearrange` tells of a tensor's dimensions."""

from __future__ import annotations

import re

from torchmemlint.flow.graph import Op, closure
from torchmemlint.flow.patterns import text_of
from torchmemlint.flow.values import Value

AXIS = re.compile(r"\([^)]*\)|\S+")
PASSING = frozenset("literal.list literal.tuple iter item comprehension store bind argument torch.normalize".split())


def tokens_summed(value: Value, summed: int, scored: int) -> bool:
    """Has a `rearrange` split channels into heads and put one head's channels at the place `scored`, and at `summed`
    the tokens: attention among channels? Places count from the end, as -1."""
    reached = closure(value.defs, lambda o: o.inputs if _hands_on(o) else (), 30)
    patterns = {pattern for op in reached if (pattern := _pattern(op)) is not None}
    return bool(patterns) and all(_of_channels(pattern, summed, scored) for pattern in patterns)


def _hands_on(op: Op) -> bool:
    return op.name in PASSING or op.name == "call" and len(op.arguments) == 1


def _pattern(op: Op) -> str | None:
    given = op.arguments[1].node if op.callee == "einops.rearrange" and len(op.arguments) > 1 else None
    return text_of(given)


def _of_channels(pattern: str, summed: int, scored: int) -> bool:
    before, _, after = pattern.partition("->")
    old, new = AXIS.findall(before), AXIS.findall(after)
    if len(new) < max(-summed, -scored):
        return False
    tokens, channels = (set(new[place].strip("()").split()) for place in (summed, scored))
    groups = [axis for axis in old if axis.startswith("(") and channels <= set(axis.strip("()").split())]
    if not groups or not tokens <= set(old):
        return False
    first = min(old.index(token) for token in tokens)
    return len(tokens) > 1 or first < old.index(groups[0])  # else windows may have been cut out of the tokens
