"""Workflow commands that GitHub shows as annotations on the changed lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from torchmemlint.findings import Diagnostic, Severity
from torchmemlint.report import Context, spot

_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.HINT: "notice"}


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def line(d: Diagnostic, context: Context) -> str:
    """One finding as a workflow command. GitHub takes columns only for ranges within one line; in a notebook the lines
    are those of its JSON, and the message names the place in the cell."""
    first, last = (context.file_row(d.filename, place) for place in (d.location, d.end_location))
    properties = {"title": f"torchmemlint ({d.code} {d.name})", "file": d.filename, "line": str(first)}
    if first == last and not d.location.cell:
        properties |= {"col": str(d.location.column), "endColumn": str(d.end_location.column)}
    properties["endLine"] = str(max(first, last))
    text = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_LEVEL[d.severity]} {text}::{_data(f'{d.filename}:{spot(d.location)}: {d.code} {d.message}')}"


def write(diagnostics: Sequence[Diagnostic], context: Context, stream: TextIO) -> None:
    """Write one command a finding."""
    for diagnostic in diagnostics:
        stream.write(line(diagnostic, context) + "\n")
