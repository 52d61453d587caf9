"""The operations of a file as the analysis sees them, beside the lines they come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchmemlint.flow.graph import Mode, Op
from torchmemlint.flow.values import Fact, Kind, Layout, Value


def beside_source(ops: Iterable[Op]) -> Iterator[str]:
    """Each operation in the order of evaluation under its source line; a line is shown when it changes."""
    shown = 0
    for op in ops:
        row = op.unit.locations(op.node)[0].row
        if row != shown:
            yield f"{row:5} | {op.unit.source.line(row)}"
            shown = row
        yield f"      {'  ' * len(op.loops)}  {describe(op)}"


def describe(op: Op) -> str:
    """An operation on one line: number, name, operands' numbers, result, grad mode, where it ends its operands."""
    parts = [f"#{op.order} {op.name}"]
    if op.callee:
        parts.append(op.callee)
    if op.inputs:
        parts.append(f"of {_numbers(op.inputs)}")
    parts.append(f"→ {describe_value(op.value)}")
    if op.mode is not Mode.ENTERED:
        parts.append(f"grad mode {op.mode.value}")
    if op.sunk:
        parts.append(f"ends in {', '.join(sorted(sink.value for sink in op.sunk))}")
    parts += [f"keeps {store.how} of {_numbers(store.value.defs)}" for store in op.stores]
    return "  ".join(parts)


def describe_value(value: Value) -> str:
    """What is known of a value; what is unknown is left out."""
    known = [value.kind.value, value.name or ""]
    if value.kind in (Kind.TENSOR, Kind.UNKNOWN, Kind.CONTAINER):
        known.append({Fact.YES: "attached", Fact.NO: "no graph", Fact.MAYBE: ""}[value.graph])
    if value.params:
        known.append(f"graph of parameter {', '.join(map(str, sorted(value.params)))}")
    known.append("" if value.layout is Layout.UNKNOWN else value.layout.value)
    known += [value.dtype or "", value.device or "", "scalar" if value.scalar is Fact.YES else ""]
    if value.shares:
        known.append(f"shares {_numbers(value.shares)}")
    return " ".join(filter(None, known))


def _numbers(ops: Iterable[Op]) -> str:
    return ", ".join(f"#{op.order}" for op in ops)
