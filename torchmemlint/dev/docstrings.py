"""A rule's docstring as its documentation: a summary, then the five headings."""

from __future__ import annotations

import inspect

from torchmemlint.registry import Rule

HEADINGS = ("What it does", "Why it costs memory", "Known limits", "Fix safety", "References")


def summary(rule: type[Rule]) -> str:
    """The docstring's first paragraph on one line, without its full stop."""
    text = inspect.cleandoc(rule.__doc__ or "").split("\n\n")[0]
    return " ".join(text.split()).rstrip(".")


def sections(rule: type[Rule]) -> dict[str, str]:
    """The text under each heading present, in the docstring's order. A heading is a line of its own, with or without
    `#` before or a colon after it; text may also follow the colon."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in inspect.cleandoc(rule.__doc__ or "").splitlines():
        heading, rest = _heading(line)
        if heading:
            current = found.setdefault(heading, [])
            current.extend([rest] if rest else [])
        elif current is not None and not _underline(line):
            current.append(line)
    return {heading: inspect.cleandoc("\n" + "\n".join(lines)).strip() for heading, lines in found.items()}


def _heading(line: str) -> tuple[str | None, str]:
    bare = line.strip().lstrip("#").strip().strip("*")
    for heading in HEADINGS:
        if bare == heading or bare.startswith(f"{heading}:"):
            return heading, bare[len(heading) + 1 :].strip()
    return None, ""


def _underline(line: str) -> bool:
    return len(line.strip()) > 3 and not line.strip().strip("-=")
