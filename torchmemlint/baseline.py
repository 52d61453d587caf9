"""Baselines: known findings are remembered by file, code and the text of their line, so that lines may move."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePath

from torchmemlint.findings import Diagnostic

LineOf = Callable[[str, int], str]
"""(file name, row) -> the text of that line."""


class BaselineError(Exception):
    """A baseline file that can't be read or written."""


def fingerprint(diagnostic: Diagnostic, line: str) -> str:
    """16 hexadecimal digits of code and line text; white space and the row don't count."""
    text = f"{diagnostic.code}\0{' '.join(line.split())}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _key(diagnostic: Diagnostic, folder: Path, line_of: LineOf) -> str:
    try:
        name = os.path.relpath(diagnostic.filename, folder)
    except ValueError:  # another drive
        name = diagnostic.filename
    mark = fingerprint(diagnostic, line_of(diagnostic.filename, diagnostic.row))
    return f"{PurePath(name).as_posix()}:{diagnostic.code}:{mark}"


def load(path: str) -> Counter[str]:
    """How often each finding is known. Raises BaselineError."""
    try:
        known = json.loads(Path(path).read_text(encoding="utf-8"))["findings"]
        if not isinstance(known, dict) or not all(type(n) is int and n > 0 for n in known.values()):
            raise TypeError
    except OSError as error:
        raise BaselineError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise BaselineError(f"{path}: not a baseline of torchmemlint") from None
    return Counter(known)


def new_findings(diagnostics: Iterable[Diagnostic], path: str, line_of: LineOf) -> list[Diagnostic]:
    """The findings that the baseline doesn't know. Raises BaselineError."""
    left, folder = load(path), Path(path).absolute().parent
    result = []
    for diagnostic in diagnostics:
        key = _key(diagnostic, folder, line_of)
        if left[key] > 0:
            left[key] -= 1
        else:
            result.append(diagnostic)
    return result


def write(diagnostics: Sequence[Diagnostic], path: str, line_of: LineOf) -> None:
    """Write all findings as known. Raises BaselineError."""
    folder = Path(path).absolute().parent
    known = Counter(_key(d, folder, line_of) for d in diagnostics)
    text = json.dumps({"version": 1, "findings": dict(sorted(known.items()))}, indent=1)
    try:
        Path(path).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise BaselineError(f"{path}: cannot be written: {error.strerror}") from None
