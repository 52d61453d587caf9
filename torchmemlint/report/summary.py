"""The last line for people: what was found, what was fixed, and what was left and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from torchmemlint.findings import Diagnostic, Severity
from torchmemlint.report import Context


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def fixes_made(codes: Counter[str]) -> str:
    """How many findings were fixed, and of which codes."""
    each = ", ".join(f"{count} {code}" for code, count in sorted(codes.items()))
    return f"Fixed {_count(codes.total(), 'finding')}{f' ({each})' if each else ''}."


def _not_fixed(diagnostics: Sequence[Diagnostic], context: Context) -> str:
    """What --fix left, and why."""
    kinds = Counter(d.fix.safe if d.fix else None for d in diagnostics)
    refused = kinds[True] + (kinds[False] if context.unsafe else 0)
    parts = [f"{kinds[False]} with an unsafe fix (--unsafe-fixes)"] * bool(kinds[False] and not context.unsafe)
    parts += [f"{refused} whose fix could not be made"] * bool(refused)
    parts += [f"{kinds[None]} without a fix"] * bool(kinds[None])
    return f"Left: {', '.join(parts)}."


def summary(diagnostics: Sequence[Diagnostic], context: Context) -> str:
    """The last line: counts by severity, files, and what --fix would do."""
    files = _count(context.files, "file")
    fixed = f" {fixes_made(context.fixed)}" if context.fixed else ""
    if not diagnostics:
        return f"No findings in {files}.{fixed}"
    counts = Counter(d.severity for d in diagnostics)
    parts = ", ".join(_count(counts[s], s.value) for s in Severity if counts[s])
    text = f"Found {_count(len(diagnostics), 'finding')} ({parts}) in {files}.{fixed}"
    if context.fixed is not None:
        return f"{text} {_not_fixed(diagnostics, context)}"
    safe = sum(1 for d in diagnostics if d.fix and d.fix.safe)
    unsafe = sum(1 for d in diagnostics if d.fix and not d.fix.safe)
    options = [f"{safe} with --fix"] * bool(safe) + [f"{unsafe} with --fix --unsafe-fixes"] * bool(unsafe)
    return f"{text} Fixable: {', '.join(options)}." if options else text
