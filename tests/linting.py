"""What the tests of meaning ask the linter: marks of a text, and its fixed text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from markers import Mark

from torchmemlint.api import check_source, fix_source
from torchmemlint.config import Config
from torchmemlint.findings import Diagnostic, Severity

LOUD = (Severity.WARNING, Severity.ERROR)


def findings(text: str, path: Path, select: tuple[str, ...] = (), *, hints: bool = True) -> list[Diagnostic]:
    """All findings in `text`; suppressions and configuration files play no part."""
    return list(check_source(text, str(path), Config(select=select, hints=hints)))


def fixed(text: str, path: Path, code: str) -> str:
    """`text` after all fixes of one rule, safe and unsafe."""
    return fix_source(text, str(path), Config(select=(code,), hints=True, unsafe_fixes=True))


def marks(found: Iterable[Diagnostic], codes: Iterable[str]) -> list[Mark]:
    """Line and code of every warning and error, and of the hints of `codes`."""
    wanted = frozenset(codes)
    return [(d.row, d.code) for d in found if d.severity in LOUD or d.code in wanted]
