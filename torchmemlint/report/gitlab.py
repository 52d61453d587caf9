"""GitLab's code quality report: a list of issues that a merge request shows beside its changes."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, TextIO

from torchmemlint.baseline import fingerprint
from torchmemlint.findings import Diagnostic, Severity
from torchmemlint.report import Context, relative, spot

_LEVEL = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.HINT: "info"}


def _issue(d: Diagnostic, context: Context, seen: Counter[str]) -> dict[str, Any]:
    """A finding. The fingerprint, unique in the report, is made of file, code and the line's text: lines may move."""
    path = relative(d.filename)
    mark = f"{path}:{fingerprint(d, context.line(d.filename, d.row))}"
    seen[mark] += 1
    first, last = (context.file_row(d.filename, place) for place in (d.location, d.end_location))
    where = f"{spot(d.location)}: " if d.location.cell else ""
    return {
        "description": f"{where}{d.message}",
        "check_name": d.code,
        "fingerprint": hashlib.sha256(f"{mark}:{seen[mark]}".encode("utf-8", "replace")).hexdigest(),
        "severity": _LEVEL[d.severity],
        "location": {"path": path, "lines": {"begin": first, "end": max(first, last)}},
    }


def write(diagnostics: Sequence[Diagnostic], context: Context, stream: TextIO) -> None:
    """Write all findings as one JSON list."""
    seen: Counter[str] = Counter()
    stream.write(json.dumps([_issue(d, context, seen) for d in diagnostics], indent=2) + "\n")
