"""One line a finding: path:row:column: CODE [severity] message; in notebooks path:cell 3:row:column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from torchmemlint.findings import Diagnostic
from torchmemlint.report import Context, printable, spot, statistics


def line(diagnostic: Diagnostic) -> str:
    """A finding as one line of text."""
    d = diagnostic
    return f"{printable(d.filename)}:{spot(d.location)}: {d.code} [{d.severity.value}] {printable(d.message, ' ')}"


def write(diagnostics: Sequence[Diagnostic], context: Context, stream: TextIO) -> None:
    """Write the findings, or their counts by code."""
    if context.statistics:
        for row in statistics(diagnostics):
            fixes = f"\t{row.fixes}" if row.fixes else ""
            stream.write(f"{row.count}\t{row.code}\t[{row.mark}] {row.name}{fixes}\n")
        return
    for diagnostic in diagnostics:
        stream.write(line(diagnostic) + "\n")
