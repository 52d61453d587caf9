"""JSON: a list of objects, one a finding; rows and columns are 1-based, end columns exclusive. In notebooks rows are
those of the cell, and each place names its `cell`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache, lru_cache
from typing import Any, TextIO

from torchmemlint.findings import Diagnostic, Fix, Location
from torchmemlint.report import Context, docs_url, statistics

_url = lru_cache(maxsize=None)(docs_url)


def _location(location: Location) -> dict[str, int]:
    return {"row": location.row, "column": location.column} | ({"cell": location.cell} if location.cell else {})


def fix_object(fix: Fix | None) -> dict[str, Any] | None:
    """A fix as JSON; null for none."""
    if fix is None:
        return None
    edits = [
        {"content": e.content, "location": _location(e.location), "end_location": _location(e.end_location)}
        for e in fix.edits
    ]
    return {"applicability": "safe" if fix.safe else "unsafe", "message": fix.message, "edits": edits}


def finding_object(d: Diagnostic) -> dict[str, Any]:
    """A finding as JSON."""
    related = [
        {
            "message": r.message,
            "filename": r.filename,
            "location": _location(r.location),
            "end_location": _location(r.end_location),
        }
        for r in d.related
    ]
    return {
        "filename": d.filename,
        "code": d.code,
        "name": d.name,
        "severity": d.severity.value,
        "message": d.message,
        "location": _location(d.location),
        "end_location": _location(d.end_location),
        "related": related,
        "fix": fix_object(d.fix),
        "cell": d.location.cell or None,
        "noqa_row": d.location.row + (d.noqa_row - d.row if d.noqa_row else 0),
        "url": _url(d.code),
        "impact": impact(d.code),
    }


@cache
def impact(code: str) -> dict[str, Any] | None:
    """What the rule's fixture was measured to cost, from the package's records; null where nothing was recorded."""
    from torchmemlint.report.records import impact_of

    return impact_of(code)


def write(diagnostics: Sequence[Diagnostic], context: Context, stream: TextIO) -> None:
    """Write the findings, or with `--statistics` their counts by code."""
    if context.statistics:
        rows = [{**asdict(row), "fixable": row.mark == "*"} for row in statistics(diagnostics)]
        stream.write(json.dumps(rows, indent=2) + "\n")
        return
    stream.write(json.dumps([finding_object(d) for d in diagnostics], indent=2) + "\n")
