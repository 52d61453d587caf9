"""A small analysis with the contract of `files.Analysis`, so that what lies around it is tested on its own:
`keep(x)` is an error with a safe fix (`keep(x.detach())`), `waste(x)` a warning with an unsafe one, `small(x)` a hint.
The fix of `keep(futile)` leaves its finding, that of `keep(broken)` no program.
`crash()` raises, `slow()` hangs, `die()` kills the process."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

from torchmemlint import source as sources
from torchmemlint.findings import Diagnostic, Edit, Fix, Related, Severity
from torchmemlint.registry import Rule


class Keep(Rule):
    """Something is kept."""

    code, name, severity = "TML101", "graph-kept-in-container", Severity.ERROR


class Waste(Rule):
    """Something is wasted."""

    code, name, severity = "TML201", "missing-no-grad", Severity.WARNING


class Small(Rule):
    """Something small."""

    code, name, severity = "TML304", "clone-before-detach", Severity.HINT


TRAIN = "import torch\nkeep(x)\nwaste(y)\nsmall(z)\n"
"""A file with a finding of each rule."""
RULES: list[type[Rule]] = [Keep, Waste, Small]
_WORDS = {"keep": Keep, "waste": Waste, "small": Small}
_CALL = re.compile(rb"\b(keep|waste|small)\(([\w.]*(?:\(\))?)\)")


class Stand:
    """Finds the calls by their text."""

    def __init__(self, project: Any, rules: Any, config: Any, texts: Any, slices: Any, stamps: Any) -> None:
        self.codes, self.texts, self.project = {rule.code for rule in rules}, texts, project

    def grounds(self) -> None:
        """What is found rests on the file alone."""

    def text(self, path: str) -> sources.Source:
        given: sources.Source | None = self.texts.get(path)
        return given or sources.read(path)

    def diagnostics(self, path: str) -> list[Diagnostic]:
        text = self.text(path)
        if b"crash()" in text.data:
            raise ValueError("a rule stumbled")
        if b"slow()" in text.data:
            _spin(30)
        if b"die()" in text.data:
            os._exit(9)
        found = [self._diagnostic(text, match) for match in _CALL.finditer(text.data)]
        return [d for d in found if d is not None and d.code in self.codes]

    def _diagnostic(self, text: sources.Source, match: re.Match[bytes]) -> Diagnostic | None:
        rule, argument = _WORDS[match[1].decode()], match[2].decode()
        if argument.endswith(("detach()", ".item()")):
            return None
        start, end = text.location(match.start()), text.location(match.end())
        at = text.location(match.end() - 1)
        broken = "((" if argument == "broken" else ".detach()"
        edit = Edit(match.end() - 1, match.end() - 1, broken, at, at)
        if argument == "futile":  # a fix that leaves the finding
            edit = Edit(match.start(), match.start(), "0; ", start, start)
        fix = Fix(f"store `{argument}.detach()`", (edit,), rule is Keep, "" if rule is Keep else "values may change")
        related = (Related("attached here", text.path, text.location(0), text.location(1)),) if start.row > 2 else ()
        return Diagnostic(
            text.path, start, start.row, start.column, rule.code, f"`{argument}` is kept", end, rule.name,
            rule.severity, related, fix, start.row, match.end(),
        )  # fmt: skip


def install(monkeypatch: Any) -> None:
    """Put the stand-in and its three rules in place of the analysis."""
    monkeypatch.setattr("torchmemlint.files.analysis", Stand)
    monkeypatch.setattr("torchmemlint.loader.load_rules", lambda: list(RULES))


def _spin(seconds: float) -> None:
    """Use the processor: the limit counts its time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def write(text: str = TRAIN, name: str = "a.py") -> Path:
    """A file in the working folder, and the folders above it."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
