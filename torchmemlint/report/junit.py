"""JUnit XML: a suite a file, a failed test case a finding."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import TextIO
from xml.etree import ElementTree as xml

from torchmemlint.findings import Diagnostic
from torchmemlint.report import Context

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _clean(text: str) -> str:
    """Without the characters that XML can't hold."""
    return _FORBIDDEN.sub("\ufffd", text)


def _suite(root: xml.Element, name: str, found: Sequence[Diagnostic]) -> None:
    failures = str(len(found))
    suite = xml.SubElement(
        root, "testsuite", name=_clean(name), tests=str(max(1, len(found))), failures=failures, errors="0"
    )
    if not found:
        xml.SubElement(suite, "testcase", name="torchmemlint", classname=_clean(name))
    for d in found:
        place = {"file": _clean(d.filename), "line": str(d.location.row), "column": str(d.location.column)}
        cell = f"cell {d.location.cell}, " if d.location.cell else ""
        title = f"{d.code} {d.name}".rstrip()
        case = xml.SubElement(suite, "testcase", name=title, classname=_clean(d.filename), attrib=place)
        failure = xml.SubElement(case, "failure", type=d.severity.value, message=_clean(d.message))
        failure.text = _clean(f"{cell}line {d.location.row}, column {d.location.column}: {d.code} {d.message}")


def write(diagnostics: Sequence[Diagnostic], context: Context, stream: TextIO) -> None:
    """Write all suites; a clean run is one suite with one passed case."""
    count = str(len(diagnostics))
    tests = str(max(1, len(diagnostics)))
    root = xml.Element("testsuites", name="torchmemlint", tests=tests, failures=count, errors="0")
    if not diagnostics:
        _suite(root, "torchmemlint", ())
    for name, group in groupby(diagnostics, key=lambda d: d.filename):
        _suite(root, name, list(group))
    xml.indent(root)
    stream.write('<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n")
