"""`explain` and `rules`: documentation out of the rules' docstrings, their fixtures and the recorded measurements."""

from __future__ import annotations

import inspect
from importlib import resources
from pathlib import Path
from typing import Any

import click

from torchmemlint import loader
from torchmemlint.config import nearest
from torchmemlint.dev.docstrings import sections, summary
from torchmemlint.dev.examples import best_example
from torchmemlint.findings import Severity
from torchmemlint.registry import Rule
from torchmemlint.report.records import impact_of
from torchmemlint.selection import SPECIAL

_SPECIAL_TEXT = {
    "TML000": "A file that can't be read or parsed: nothing in it is checked. Only --ignore TML000 hides it.",
    "TML001": "A suppression comment that silences nothing: the finding is gone, or the code is wrong. The fix "
    "(safe) removes it. A bare `# noqa` and other tools' codes are left alone.",
    "TML999": "A rule, or the analysis itself, failed on this file or took too long; all other files are checked. "
    "Please report it. Only --ignore TML999 hides it.",
}


def find_rule(text: str) -> type[Rule] | str:
    """The rule with this code or name; the code of one of the tool's own findings. Raises UsageError."""
    rules = loader.load_rules()
    for rule in rules:
        if text.upper() == rule.code or text.lower() == rule.name:
            return rule
    for code, name in SPECIAL.items():
        if text.upper() == code or text.lower() == name:
            return code
    codes = [rule.code for rule in rules] + list(SPECIAL)
    close = nearest(text.upper(), codes) or nearest(text.lower(), [rule.name for rule in rules])
    raise click.UsageError(f"no rule has the code or name `{text}`{close}")


def explanation(text: str) -> str:
    """All that is known of a rule, as plain text. Raises UsageError for an unknown code."""
    rule = find_rule(text)
    if isinstance(rule, str):
        return f"{rule} {SPECIAL[rule]}\n\n{_SPECIAL_TEXT[rule]}"
    parts = [f"{rule.code} {rule.name} ({rule.severity.value})", _documentation(rule)]
    bad, good = _example(rule.code)
    parts += [f"Bad\n\n{_indented(bad)}"] if bad else []
    parts += [f"Good\n\n{_indented(good)}"] if good else []
    measured = _measured(rule.code)
    return "\n\n".join([*parts, measured] if measured else parts)


def facts(code: str) -> tuple[str, Severity] | None:
    """A rule's one-sentence summary and its usual severity; None for a code that no rule has."""
    try:
        rule = find_rule(code)
    except click.UsageError:
        return None
    if isinstance(rule, str):
        return _SPECIAL_TEXT[rule], Severity.WARNING if rule == "TML001" else Severity.ERROR
    return summary(rule), rule.severity


def markdown(text: str) -> str:
    """The explanation of a rule as Markdown, without examples. Raises UsageError for an unknown code."""
    rule = find_rule(text)
    if isinstance(rule, str):
        return f"**{rule}** {SPECIAL[rule]}\n\n{_SPECIAL_TEXT[rule]}"
    parts = [f"**{rule.code}** {rule.name} ({rule.severity.value})", f"{summary(rule)}."]
    parts += [paragraph(heading, text) for heading, text in sections(rule).items()]
    record = impact_of(rule.code)
    return "\n\n".join([*parts, f"**Measured.** {_cost(record)}"] if record else parts)


def paragraph(heading: str, text: str) -> str:
    """A section of a rule's documentation as Markdown; a list begins a line of its own."""
    return f"**{heading}.**" + ("\n\n" if text.startswith(("- ", "* ", "1. ")) else " ") + text


def _cost(record: dict[str, Any]) -> str:
    """A recorded measurement in one sentence."""
    where = [
        f"fixture {record.get('fixture')}",
        record.get("device"),
        f"torch {record.get('torch')}",
        record.get("date"),
    ]
    return f"{record.get('measured')} ({', '.join(str(part) for part in where if part)})"


def _documentation(rule: type[Rule]) -> str:
    return inspect.cleandoc(rule.__doc__ or "This rule is not documented.")


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def _example(code: str) -> tuple[str, str]:
    """(bad, good) out of the rule's fixture folder; empty where there is none."""
    try:
        root = resources.files("torchmemlint.fixtures")
    except ModuleNotFoundError:
        return "", ""
    folders = [entry for entry in root.iterdir() if entry.name.startswith(f"{code}-")]
    cases = [Path(str(case)) for folder in folders for case in folder.iterdir() if _is_case(case.name)]
    return best_example(code, sorted(cases)) if cases else ("", "")


def _is_case(name: str) -> bool:
    return name.endswith(".py") and not name.startswith(("ok_", "_"))


def _measured(code: str) -> str:
    record = impact_of(code)
    return f"Measured\n\n{_indented(_record(record))}" if record else ""


def _record(record: dict[str, Any]) -> str:
    return "\n".join(f"{key}: {value}" for key, value in record.items() if isinstance(value, str))


def has_fix(rule: type[Rule]) -> str:
    """What the docstring says on fix safety, in a word: safe, unsafe, or - for no fix."""
    text = sections(rule).get("Fix safety", "").lower()
    if not text or text.startswith(("no fix", "none", "there is no fix", "no automatic", "not fixable")):
        return "-"
    return "unsafe" if "unsafe" in text and not text.startswith(("safe", "the fix is safe")) else "safe"


def print_table() -> None:
    """All rules and the tool's own findings, on standard output."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("code", "name", "severity", "fix", "what it finds"):
        table.add_column(title, no_wrap=True)
    rows = [_special_row(code) for code in SPECIAL]
    rows += [(r.code, r.name, r.severity.value, has_fix(r), summary(r)) for r in loader.load_rules()]
    console = Console(markup=False, emoji=False, highlight=False, width=None if _terminal() else 160)
    taken = sum(max(len(row[i]) for row in (*rows, ("", "", "severity", ""))) + 2 for i in range(4))
    console.width = max(console.width, taken + 20)  # a narrow terminal breaks lines; codes and names are never cut
    for row in rows:
        table.add_row(*row[:4], _cut(row[4], console.width - taken))
    console.print(table)


def _special_row(code: str) -> tuple[str, ...]:
    found = _SPECIAL_TEXT[code].partition(".")[0].partition(":")[0]
    return code, SPECIAL[code], *(("warning", "safe") if code == "TML001" else ("error", "-")), found


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def _terminal() -> bool:
    import sys

    return sys.stdout.isatty()
