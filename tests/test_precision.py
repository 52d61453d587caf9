"""The argued findings: their data, their page, and how a run is compared with them."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from torchmemlint.dev import precision
from torchmemlint.dev.corpus import Record

ROOT = Path(__file__).parents[1]

DATA = """
[[repository]]
name = "two/nets"
url = "https://example.org/two/nets"
revision = "0123456789abcdef"

[[finding]]
repository = "two/nets"
file = "a.py"
line = 3
code = "TML101"
verdict = "right"
reason = "kept"

[[finding]]
repository = "two/nets"
file = "b.py"
line = 4
code = "TML201"
verdict = "{verdict}"
reason = "{reason}"
"""


@pytest.fixture
def argued(tmp_path: Path) -> precision.Precision:
    return load(tmp_path)


def load(folder: Path, verdict: str = "wrong", reason: str = "grad is off") -> precision.Precision:
    path = folder / "precision.toml"
    path.write_text(DATA.format(verdict=verdict, reason=reason), encoding="utf-8")
    return precision.load(path)


def record(file: str, line: int, code: str, severity: str = "warning", repo: str = "two+nets") -> Record:
    return Record(repo, file, line, code, severity, "text")


def test_the_page_counts_and_lists_every_finding(argued: precision.Precision) -> None:
    text = precision.page(argued)
    assert "| [two/nets](https://example.org/two/nets) | `0123456789ab` | 1 | 0 | 1 | 50 % |" in text
    assert "| a.py:3 | TML101 | right | kept |" in text
    assert "| b.py:4 | TML201 | wrong | grad is off |" in text


def test_a_run_is_compared_with_the_verdicts(argued: precision.Precision) -> None:
    run = [
        record("a.py", 3, "TML101"),
        record("c.py", 5, "TML402"),
        record("d.py", 6, "TML402", "hint"),
        record("a.py", 3, "TML101", repo="some+thing"),
    ]
    assert precision.judged(argued, run) == [
        "unjudged two+nets/c.py:5: TML402 [warning] text",
        "gone two+nets/b.py:4: TML201",
        "100 % of 1 judged findings are right; 1 unjudged",
    ]


@pytest.mark.parametrize(("verdict", "reason"), [("maybe", "x"), ("right", " ")])
def test_each_finding_has_a_verdict_and_a_reason(tmp_path: Path, verdict: str, reason: str) -> None:
    with pytest.raises(click.ClickException, match="lacks a verdict"):
        load(tmp_path, verdict, reason)


def test_the_argued_findings_are_precise() -> None:
    found = precision.load(ROOT / precision.DATA).findings
    right = sum(a.verdict == "right" for a in found)
    assert right / len(found) >= 0.95
    assert len({a.repository for a in found}) >= 10
