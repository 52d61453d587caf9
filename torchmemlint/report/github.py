"""Workflow commands that GitHub shows as annotations on the changed lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from torchmemlint.findings import Diagnostic, Severity
from torchmemlint.report import Context

_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.HINT: "notice"}


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def line(d: Diagnostic) -> str:
    """One finding as a workflow command. GitHub takes columns only for ranges within one line."""
    properties = {"title": f"torchmemlint ({d.code} {d.name})", "file": d.filename, "line": str(d.row)}
    if d.end_location.row == d.row:
        properties |= {"col": str(d.column), "endColumn": str(d.end_location.column)}
    properties["endLine"] = str(d.end_location.row)
    text = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_LEVEL[d.severity]} {text}::{_data(f'{d.filename}:{d.row}:{d.column}: {d.code} {d.message}')}"


def write(diagnostics: Sequence[Diagnostic], context: Context, stream: TextIO) -> None:
    """Write one command a finding."""
    for diagnostic in diagnostics:
        stream.write(line(diagnostic) + "\n")
