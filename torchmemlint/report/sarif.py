"""SARIF 2.1.0, the format of code-scanning dashboards."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH100, PTH117

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any, TextIO
from urllib.parse import quote

from torchmemlint import __version__
from torchmemlint.baseline import fingerprint
from torchmemlint.findings import Diagnostic, Fix, Location, Severity
from torchmemlint.report import Context, docs_url, spot

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.HINT: "note"}
_PROBLEM = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.HINT: "recommendation"}


def _uri(filename: str) -> str:
    """Relative to the working directory where the file lies below it, else a file: address."""
    path = os.path.relpath(filename) if os.path.isabs(filename) else filename
    if path.startswith(".."):
        return Path(os.path.abspath(filename)).as_uri()
    return quote(PurePath(path).as_posix(), errors="surrogateescape")


def _region(start: Location, end: Location) -> dict[str, int]:
    """Where end is before start (an unknown end), the start alone."""
    region = {"startLine": start.row, "startColumn": start.column}
    if (end.row, end.column) >= (start.row, start.column):
        region |= {"endLine": end.row, "endColumn": end.column}
    return region


def _place(filename: str, start: Location, end: Location, context: Context) -> dict[str, Any]:
    """A location. In a notebook the lines are those of its JSON, and a logical location names the place in the cell."""
    artifact = {"uri": _uri(filename)}
    if not start.cell:
        return {"physicalLocation": {"artifactLocation": artifact, "region": _region(start, end)}}
    first, last = context.file_row(filename, start), context.file_row(filename, end)
    region = {"startLine": first, "endLine": max(first, last)}
    logical = {"name": f"cell {start.cell}", "fullyQualifiedName": spot(start)}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}, "logicalLocations": [logical]}


def _fix(filename: str, fix: Fix) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": _region(e.location, e.end_location), "insertedContent": {"text": e.content}}
        for e in fix.edits
    ]
    change = {"artifactLocation": {"uri": _uri(filename)}, "replacements": replacements}
    why = "" if fix.safe else f" (unsafe{f': {fix.reason}' if fix.reason else ''})"
    return {"description": {"text": fix.message + why}, "artifactChanges": [change]}


def _rules(diagnostics: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    """The rules that were reported, by code."""
    reported = {d.code: d for d in sorted(diagnostics, key=lambda d: d.code, reverse=True)}
    return [_rule(reported[code]) for code in sorted(reported)]


def _rule(d: Diagnostic) -> dict[str, Any]:
    """A rule's description: its documentation as Markdown, its usual level, what GitHub wants to know of it."""
    from torchmemlint.explain import facts, markdown

    summary, usual = facts(d.code) or ((d.name or d.code).replace("-", " "), d.severity)
    url, help_text = docs_url(d.code), markdown(d.code) if facts(d.code) else summary
    return {
        "id": d.code,
        "name": _pascal(d.name or d.code),
        "shortDescription": {"text": (d.name or d.code).replace("-", " ")},
        "fullDescription": {"text": f"{summary.rstrip('.')}."},
        "help": {"text": help_text.replace("**", "").replace("`", ""), "markdown": help_text},
        "defaultConfiguration": {"level": _LEVEL[usual]},
        "properties": {
            "tags": ["pytorch", "gpu-memory"],
            "precision": "high",
            "problem.severity": _PROBLEM[usual],
        },
        **({"helpUri": url} if url else {}),
    }


def _pascal(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))


def _results(diagnostics: Sequence[Diagnostic], context: Context, order: dict[str, int]) -> Iterator[dict[str, Any]]:
    seen: Counter[tuple[str, str]] = Counter()
    for d in diagnostics:
        mark = fingerprint(d, context.line(d.filename, d.row))
        seen[d.filename, mark] += 1
        result: dict[str, Any] = {
            "ruleId": d.code,
            "ruleIndex": order[d.code],
            "level": _LEVEL[d.severity],
            "message": {"text": d.message},
            "locations": [_place(d.filename, d.location, d.end_location, context)],
            "partialFingerprints": {"torchmemlint/v1": f"{mark}:{seen[d.filename, mark]}"},
        }
        if d.related:
            result["relatedLocations"] = [
                {"id": i, **_place(r.filename, r.location, r.end_location, context), "message": {"text": r.message}}
                for i, r in enumerate(d.related)
            ]
        if d.fix and not d.location.cell:  # a fix of a cell is no change of the file's own lines
            result["fixes"] = [_fix(d.filename, d.fix)]
        yield result


def write(diagnostics: Sequence[Diagnostic], context: Context, stream: TextIO) -> None:
    """Write one run with its rules and results. Columns count code points."""
    rules = _rules(diagnostics)
    order = {rule["id"]: i for i, rule in enumerate(rules)}
    driver = {"name": "torchmemlint", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not any(d.code == "TML999" for d in diagnostics)}],
        "columnKind": "unicodeCodePoints",
        "results": list(_results(diagnostics, context, order)),
    }
    stream.write(json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n")
