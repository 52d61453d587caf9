"""Suppression comments: what they silence, and which are reported as unused."""

from __future__ import annotations

import pytest

from torchmemlint import fixes, suppress
from torchmemlint.findings import Diagnostic, Location, Severity
from torchmemlint.source import Source

KNOWN = frozenset({"TML000", "TML001", "TML999", "TML101", "TML102", "TML201"})


def source(text: str) -> Source:
    return Source("a.py", text.encode())


def finding(row: int, code: str = "TML101", noqa_row: int = 0) -> Diagnostic:
    place = Location(row, 1)
    return Diagnostic("a.py", place, row, 1, code, "m", place, noqa_row=noqa_row, severity=Severity.ERROR)


def silenced(text: str, row: int, code: str = "TML101", noqa_row: int = 0) -> bool:
    return suppress.collect(source(text)).silences(finding(row, code, noqa_row))


def unused(text: str, *found: Diagnostic, active: frozenset[str] = KNOWN) -> list[Diagnostic]:
    text_ = source(text)
    comments = suppress.collect(text_)
    for diagnostic in found:
        comments.silences(diagnostic)
    return suppress.unused(text_, comments, KNOWN, active)


def cleaned(text: str, *found: Diagnostic) -> str:
    reports = unused(text, *found)
    assert all(d.fix is not None and d.fix.safe for d in reports)
    return fixes.apply(text.encode(), [d.fix for d in reports if d.fix])[0].decode()


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# noqa", True),
        ("#noqa", True),
        ("# NoQA: tml101", True),
        ("# noqa: TML101", True),
        ("# noqa:TML101", True),
        ("# noqa : TML101", True),
        ("# noqa: TML1", True),
        ("# noqa: E501,TML101", True),
        ("# noqa: E501 TML101 because of this", True),
        ("# type: ignore  # noqa: TML101", True),
        ("# torchmemlint: ignore", True),
        ("# torchmemlint: ignore[TML101] it is read later", True),
        ("# torchmemlint:ignore[TML201, TML1]", True),
        ("# noqa: E501", False),
        ("# noqa: TML201", False),
        ("# noqable", False),
        ("# torchmemlint: ignore[TML2]", False),
        ("# ruff: noqa", False),
        ("# flake8: noqa: TML101", False),
    ],
)
def test_end_of_line_comments(comment: str, expected: bool) -> None:
    assert silenced(f"x = 1  {comment}\n", 1) is expected
    assert not silenced(f"x = 1  {comment}\ny = 2\n", 2)


@pytest.mark.parametrize("text", ['x = "# noqa"\n', "x = '''\n# noqa\n'''\n", "x = f'{1} # noqa: TML101'\n"])
def test_comments_in_strings_are_none(text: str) -> None:
    assert not any(silenced(text, row) for row in (1, 2, 3))


def test_multi_line_statements_take_the_comment_at_either_end_or_at_the_row_itself() -> None:
    call = "losses.append(  {0}\n    loss,  {1}\n    other,  {2}\n)  {3}\n"
    for place, expected in enumerate([True, True, False, True]):
        marks = ["# noqa: TML101" if i == place else "#" for i in range(4)]
        assert silenced(call.format(*marks), 2) is expected


def test_a_statement_ends_where_the_block_begins() -> None:
    assert not silenced("for x in y:  # noqa\n    keep(x)\n", 2)
    assert not silenced("def f():\n    keep(x)\n    return 1  # noqa\n", 2)


def test_the_row_for_comments_that_a_finding_names_counts() -> None:
    assert silenced("x = '''\na\n'''  # noqa: TML101\n", 2, noqa_row=3)


@pytest.mark.parametrize(
    "text",
    [
        "# torchmemlint: ignore[TML101] reason\nkeep(x)\n",
        "# torchmemlint: ignore[TML101]\n\n# more\nkeep(x)\n",
        "if a:\n    # torchmemlint: ignore\n    keep(x)\n",
    ],
)
def test_a_comment_line_speaks_of_the_next_line(text: str) -> None:
    last = text.count("\n")
    assert silenced(text, last)
    assert not silenced(text + "keep(y)\n", last + 1)


def test_a_noqa_on_its_own_line_speaks_of_nothing_else() -> None:
    assert not silenced("# noqa\nkeep(x)\n", 2)


def test_file_level() -> None:
    text = "import torch\nkeep(x)\n# torchmemlint: ignore-file[TML101]\n"
    assert silenced(text, 2)
    assert not silenced(text, 2, "TML201")
    assert silenced("# torchmemlint: ignore-file\nkeep(x)\n", 2, "TML201")
    assert suppress.collect(source("# torchmemlint: skip-file\n")).skips_file
    assert not suppress.collect(source("'''# torchmemlint: skip-file'''\n")).skips_file


@pytest.mark.parametrize("code", ["TML000", "TML999"])
def test_failures_cannot_be_silenced(code: str) -> None:
    assert not silenced("# torchmemlint: ignore-file\nx  # noqa\n", 2, code)


def test_unused_codes_are_reported_and_bare_or_foreign_ones_are_not() -> None:
    assert unused("x = 1  # noqa\ny = 1  # noqa: E501, W291\n") == []
    (report,) = unused("x = 1  # noqa: E501, TML101\n")
    assert (report.code, report.row, report.column) == ("TML001", 1, 8)
    assert "TML101 is not reported here" in report.message
    assert unused("x = 1  # noqa: TML101\n", finding(1)) == []
    assert unused("x = 1  # noqa: TML1\n", finding(1)) == []


def test_codes_that_were_not_looked_for_are_left_alone() -> None:
    assert unused("x = 1  # noqa: TML201\n", active=KNOWN - {"TML201"}) == []
    assert unused("x = 1  # torchmemlint: ignore\n", active=KNOWN - {"TML201"}) == []
    assert len(unused("x = 1  # torchmemlint: ignore\n")) == 1


def test_unknown_codes_and_words_name_the_nearest() -> None:
    (report,) = unused("x = 1  # noqa: TML1011\n")
    assert report.message == "no rule has the code TML1011; did you mean `TML101`?"
    (report,) = unused("x = 1  # torchmemlint: ignroe[TML101]\n")
    assert "did you mean `ignore`?" in report.message
    assert report.fix is None


def test_an_unused_report_can_be_silenced() -> None:
    assert unused("x = 1  # noqa: TML101, TML001\n") == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # noqa: TML101\n", "x = 1\n"),
        ("x = 1  # noqa: TML101", "x = 1"),
        ("x = 1  # noqa: TML101\r\ny = 2\r\n", "x = 1\r\ny = 2\r\n"),
        ("x = 1  # noqa: E501, TML101\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # noqa:TML101,E501\n", "x = 1  # noqa:E501\n"),
        ("x = 1  # type: ignore  # noqa: TML101\n", "x = 1  # type: ignore\n"),
        ("x = 1  # noqa: TML101  # type: ignore\n", "x = 1  # type: ignore\n"),
        ("x = 1  # noqa: TML101 the reason\n", "x = 1  # the reason\n"),
        ("x = 1  # torchmemlint: ignore[TML101] the reason\n", "x = 1\n"),
        ("x = 1  # torchmemlint: ignore[TML101, TML201] why\n", "x = 1\n"),
        ("    \n# torchmemlint: ignore-file[TML101]\nx = 1\n", "    \nx = 1\n"),
        ("if a:\n    # torchmemlint: ignore\n    x = 1\n", "if a:\n    x = 1\n"),
        ("é = 'ß'  # noqa: TML101\n", "é = 'ß'\n"),
    ],
)
def test_the_fix_removes_what_is_unused(before: str, after: str) -> None:
    assert cleaned(before) == after
    assert cleaned(after) == after


def test_the_fix_keeps_what_is_used() -> None:
    text = "x = 1  # torchmemlint: ignore[TML101, TML201] why\n"
    assert cleaned(text, finding(1)) == "x = 1  # torchmemlint: ignore[TML101] why\n"


@pytest.mark.parametrize(
    ("before", "row", "after"),
    [
        ("keep(x)\n", 1, "keep(x)  # noqa: TML101\n"),
        ("keep(x)", 1, "keep(x)  # noqa: TML101"),
        ("keep(x)  \r\n", 1, "keep(x)  # noqa: TML101\r\n"),
        ("keep(x)  # noqa: E501\n", 1, "keep(x)  # noqa: E501, TML101\n"),
        ("keep(x)  # why\n", 1, "keep(x)  # why  # noqa: TML101\n"),
        ("keep('''\nx\n''')\n", 1, "keep('''\nx\n''')  # noqa: TML101\n"),
        ("keep(x, \\\n  y)\n", 1, "keep(x, \\\n  y)  # noqa: TML101\n"),
    ],
)
def test_noqa_is_added_where_a_comment_can_be(before: str, row: int, after: str) -> None:
    data, count = suppress.add_noqa(source(before), [finding(row)])
    assert (data.decode(), count) == (after, 1)
    assert silenced(after, row)


def test_noqa_is_not_added_for_failures() -> None:
    assert suppress.add_noqa(source("keep(x)\n"), [finding(1, "TML999")]) == (b"keep(x)\n", 0)
