"""The operations of a file as the analysis sees them, beside the lines they come from, and the events they end in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from enum import Enum
from pathlib import Path

import click

from torchmemlint.checker import Checker
from torchmemlint.flow.closing import events
from torchmemlint.flow.events import Event, FunctionClosed
from torchmemlint.flow.graph import Mode, Op
from torchmemlint.flow.program import Program
from torchmemlint.flow.values import Fact, Kind, Layout, Value
from torchmemlint.index.build import index_source
from torchmemlint.index.modules import module_name
from torchmemlint.index.project import ProjectIndex
from torchmemlint.source import SourceError, read


def stream(path: Path) -> Iterator[str]:
    """Every function of a file, on its own: its operations, then its events. Raises ClickException for a file that
    can't be read or parsed."""
    try:
        index = index_source(read(str(path)), *module_name(str(path)))
    except SourceError as error:
        raise click.ClickException(f"{path}:{error.row}: {error.message}") from None
    except SyntaxError as error:
        raise click.ClickException(f"{path}:{error.lineno}: {error.msg}") from None
    checker = Checker(Program(ProjectIndex({index.path: index})), [])
    for info in index.functions.values():
        yield f"== {info.qualname or 'module body'}"
        flow = checker.flow(info)
        if flow is None:
            yield "      not analysed: it can't be parsed on its own"
            continue
        yield from beside_source(flow.ops)
        yield from map(describe_event, (e for e in events(flow) if not isinstance(e, FunctionClosed)))


def describe_event(event: Event) -> str:
    """An event on one line, with the facts it carries."""
    facts = [(f.name, getattr(event, f.name)) for f in fields(event) if f.name != "function"]
    return "  ".join([f"  >>> {type(event).__name__}", *(f"{name}={_fact(value)}" for name, value in facts)])


def _fact(value: object) -> str:
    if isinstance(value, Op):
        return f"#{value.order}"
    if isinstance(value, (list, tuple)):
        return ", ".join(_fact(getattr(item, "op", item)) for item in value) or "none"
    if isinstance(value, frozenset):
        return ", ".join(sorted(str(getattr(item, "value", item)) for item in value)) or "none"
    if value is None or isinstance(value, (str, int, float, Enum)):
        return str(value)
    return getattr(value, "path", None) or type(value).__name__  # trees have no text of their own to show


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
    parts += ["proven attached"] if op.proven else []
    parts += [f"freed by {_numbers(op.freed)}"] if op.freed else []
    if op.sunk:
        parts.append(f"ends in {', '.join(sorted(sink.value for sink in op.sunk))}")
    parts += [f"keeps {store.how} of {_numbers(store.value.defs)}" for store in op.stores]
    return "  ".join(parts)


def describe_value(value: Value) -> str:
    """What is known of a value; what is unknown is left out."""
    known = [value.kind.value, value.name or ""]
    if value.kind in (Kind.TENSOR, Kind.UNKNOWN, Kind.CONTAINER):
        own = {Fact.YES: "attached", Fact.NO: "" if value.params else "no graph", Fact.MAYBE: ""}
        known.append(own[value.graph])
    if value.params:
        known.append(f"with the graph of parameter {', '.join(map(str, sorted(value.params)))}")
    known.append("" if value.layout is Layout.UNKNOWN else value.layout.value)
    known += [value.dtype or "", value.device or "", "scalar" if value.scalar is Fact.YES else ""]
    if value.shares:
        known.append(f"shares {_numbers(value.shares)}")
    return " ".join(filter(None, known))


def _numbers(ops: Iterable[Op]) -> str:
    return ", ".join(f"#{op.order}" for op in ops)
