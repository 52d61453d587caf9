"""For people: each finding with its lines of code, the span underlined, second spans labelled, and the fix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from torchmemlint.findings import Diagnostic, Location, Severity
from torchmemlint.report import Context, printable, spot, statistics
from torchmemlint.report.summary import summary

_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.HINT: "bold cyan"}
WIDTH = 160  # longer lines are cut


class _Span(NamedTuple):
    filename: str
    start: Location
    end: Location
    label: str
    mark: str  # "^" for the finding itself, "-" for a related span


def _shown(line: str) -> str:
    return printable(line, "    ")


def _window(line: str, column: int) -> tuple[str, int, str]:
    """The part of a long line around `column`, how many characters were cut before it, and what stands for them."""
    if len(line) <= WIDTH:
        return line, 0, ""
    start = max(0, min(column - 1 - WIDTH // 4, len(line) - WIDTH))
    return line[start : start + WIDTH], start, "… " if start else ""


def _frame(span: _Span, context: Context, width: int, style: str, again: bool) -> Text:
    """A row of code and the row that underlines the span; the latter alone if the same row was shown just before
    (`again`) and fits."""
    line = context.shown(span.filename, span.start)
    visible, cut, lead = _window(line, span.start.column)
    first = max(span.start.column - 1 - cut, 0)
    last = span.end.column - 1 - cut if _row(span.end) == _row(span.start) else len(visible.rstrip())
    last = max(min(last, len(visible)), first + 1)
    gap = " " * (len(lead) + cell_len(_shown(visible[:first])))
    marks = span.mark * max(1, cell_len(_shown(visible[first:last])))
    text = Text()
    if not again or lead or visible != line:
        text.append(f"{span.start.row:>{width}} | ", "blue").append(f"{lead}{_shown(visible.rstrip())}\n")
    text.append(f"{'':>{width}} | ", "blue").append(gap).append(marks, style)
    label = printable(span.label, " ")
    return text.append(f" {label}\n" if label else "\n", style)


def _spans(d: Diagnostic) -> list[_Span]:
    """The finding's spans: its own file's by row, then those of other files."""
    spans = [_Span(r.filename, r.location, r.end_location, r.message, "-") for r in d.related]
    spans.append(_Span(d.filename, d.location, d.end_location, "", "^"))
    return sorted(spans, key=lambda s: (s.filename != d.filename, s.filename, _row(s.start), s.start.column))


def _row(place: Location) -> tuple[int, int]:
    return place.cell, place.row


def _finding(d: Diagnostic, context: Context) -> Text:
    style, spans = _STYLE[d.severity], _spans(d)
    width = max(len(str(span.start.row)) for span in spans) + 1
    text = Text()
    text.append(printable(d.filename), "bold").append(f":{spot(d.location)}: ")
    text.append(f"{d.code} [{d.severity.value}]", style).append(f" {printable(d.message, ' ')}\n")
    where, cell, row = d.filename, spans[0].start.cell if spans[0].filename == d.filename else d.location.cell, 0
    for span in spans:
        if (span.filename, span.start.cell) != (where, cell):
            text.append(f"{'':>{width}}--> {printable(span.filename)}:{spot(span.start)}\n", "blue")
        elif row and span.start.row > row + 1:
            text.append(f"{'':>{width}} ⋮\n", "blue")
        again = (where, cell, row) == (span.filename, span.start.cell, span.start.row)
        where, cell, row = span.filename, span.start.cell, span.start.row
        if context.shown(span.filename, span.start):
            text.append_text(_frame(span, context, width, style if span.mark == "^" else "blue", again))
    if d.fix:
        kind = "safe" if d.fix.safe else "unsafe"
        why = f" (unsafe because {printable(d.fix.reason, ' ')})" if d.fix.reason and not d.fix.safe else ""
        text.append(f"{'':>{width}} = ", "blue").append(f"fix ({kind}): ", "bold green")
        text.append(printable(d.fix.message, " ") + why + "\n")
    return text


def write(diagnostics: Sequence[Diagnostic], context: Context, stream: TextIO) -> None:
    """Write all findings and the summary; colours only where `stream` is a terminal."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True)
    if context.statistics:
        for row in statistics(diagnostics):
            fixes = f"  ({row.fixes})" if row.fixes else ""
            console.print(Text(f"{row.count:>6}  ").append(row.code, "bold").append(f"  {row.mark} {row.name}{fixes}"))
    else:
        for diagnostic in diagnostics:
            console.print(_finding(diagnostic, context))
    if context.summary:
        console.print(Text(summary(diagnostics, context), "bold" if diagnostics else "green"))
