"""The output formats, from plain diagnostics to text."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as xml
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from torchmemlint.findings import Diagnostic, Edit, Fix, Location, Related, Severity
from torchmemlint.report import FORMATS, Context, printable, report
from torchmemlint.source import Source, SourceError

TEXT = "import torch\nlogits = model(x)\n\n\tlosses.append(größe, logits)\nlast\n"


def read(path: str) -> Source:
    if path == "gone.py":
        raise SourceError("cannot be read")
    return Source(path, TEXT.encode())


def diagnostic(**changes: object) -> Diagnostic:
    edit = Edit(50, 55, "logits.detach()", Location(4, 23), Location(4, 29))
    values: dict[str, object] = {
        "filename": "a.py",
        "location": Location(4, 23),
        "row": 4,
        "column": 23,
        "code": "TML101",
        "message": "`logits` is kept",
        "end_location": Location(4, 29),
        "name": "graph-kept-in-container",
        "severity": Severity.ERROR,
        "related": (Related("attached here", "a.py", Location(2, 10), Location(2, 18)),),
        "fix": Fix("store `logits.detach()`", (edit,), True),
        "noqa_row": 4,
    }
    return Diagnostic(**{**values, **changes})  # type: ignore[arg-type]


def rendered(format_name: str, *found: Diagnostic, **changes: object) -> str:
    stream = io.StringIO()
    report(format_name, found, Context(read, files=3, **changes), stream)  # type: ignore[arg-type]
    return stream.getvalue()


def test_text_underlines_spans_by_what_is_seen() -> None:
    lines = rendered("text", diagnostic()).splitlines()
    assert lines[0] == "a.py:4:23: TML101 [error] `logits` is kept"
    assert lines[1:3] == [" 2 | logits = model(x)", "   |          -------- attached here"]
    assert "⋮" in lines[3]
    assert lines[4] == " 4 |     losses.append(größe, logits)"
    assert lines[5] == "   | " + " " * 25 + "^^^^^^"
    assert lines[6] == "   = fix (safe): store `logits.detach()`"
    assert lines[-1] == "Found 1 finding (1 error) in 3 files. Fixable: 1 with --fix."


def test_a_row_with_two_spans_is_shown_once() -> None:
    related = (Related("made here", "a.py", Location(4, 2), Location(4, 8)),)
    lines = rendered("text", diagnostic(related=related, fix=None)).splitlines()
    assert [line.split("|")[0].strip() for line in lines[1:4]] == ["4", "", ""]
    assert "------ made here" in lines[2]
    assert "^^^^^^" in lines[3]


def test_text_names_other_files_and_unsafe_reasons() -> None:
    other = Related("made here", "b.py", Location(5, 1), Location(5, 5))
    fix = Fix("wrap", (), safe=False, reason="it may raise")
    text = rendered("text", diagnostic(related=(other,), fix=fix))
    assert "--> b.py:5:1" in text
    assert "fix (unsafe): wrap (unsafe because it may raise)" in text
    assert "1 with --fix --unsafe-fixes" in text


def test_text_without_the_file_has_no_frame() -> None:
    text = rendered("text", diagnostic(filename="gone.py", related=(), fix=None))
    assert text.splitlines()[0] == "gone.py:4:23: TML101 [error] `logits` is kept"
    assert "|" not in text


def test_text_spans_over_several_lines_and_past_the_end() -> None:
    text = rendered("text", diagnostic(related=(), fix=None, end_location=Location(5, 2)))
    assert "   | " + " " * 25 + "^^^^^^^\n" in text
    assert "^" in rendered("text", diagnostic(related=(), row=5, location=Location(5, 5), end_location=Location(5, 5)))


def test_long_lines_are_cut_around_the_span() -> None:
    data = ("x = [" + "1, " * 5000 + "here]\n").encode()
    column = data.index(b"here") + 1
    stream = io.StringIO()
    place, end = Location(1, column), Location(1, column + 4)
    found = diagnostic(related=(), fix=None, location=place, row=1, column=column, end_location=end)
    report("text", [found], Context(lambda path: Source(path, data)), stream)
    code, marks = stream.getvalue().splitlines()[1:3]
    assert len(code) < 200
    assert code[marks.index("^") : marks.rindex("^") + 1] == "here"


def test_no_colours_outside_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert "\x1b" not in rendered("text", diagnostic())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("no_color", [False, True])
def test_colours_on_a_terminal_unless_refused(monkeypatch: pytest.MonkeyPatch, no_color: bool) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    report("text", [diagnostic()], Context(read), stream)
    assert ("\x1b[1;31m" in stream.getvalue()) is not no_color


def test_summaries() -> None:
    assert rendered("text") == "No findings in 3 files.\n"
    assert rendered("text", fixed=Counter(TML101=2)) == "No findings in 3 files. Fixed 2 findings (2 TML101).\n"
    assert rendered("text", summary=False) == ""
    hint = diagnostic(severity=Severity.HINT, fix=None)
    assert "Found 3 findings (1 error, 2 hints) in 3 files.\n" in rendered("text", hint, hint, diagnostic(fix=None))


def test_what_fixing_left_is_told_with_the_reason() -> None:
    made = diagnostic().fix
    assert made is not None
    unsafe, none = diagnostic(fix=replace(made, safe=False)), diagnostic(fix=None)
    text = rendered("text", diagnostic(), unsafe, none, none, fixed=Counter(TML402=1, TML101=3))
    assert "Fixed 4 findings (3 TML101, 1 TML402). Left: " in text
    left = "Left: 1 with an unsafe fix (--unsafe-fixes), 1 whose fix could not be made, 2 without a fix.\n"
    assert text.endswith(left)
    assert "Left: 2 whose fix could not be made.\n" in rendered(
        "text", diagnostic(), unsafe, fixed=Counter(), unsafe=True
    )


def test_concise() -> None:
    found = diagnostic(message="two\nlines\x1b[31m")
    assert rendered("concise", found) == "a.py:4:23: TML101 [error] two\\x0alines\\x1b[31m\n"
    assert rendered("concise") == ""


def test_statistics() -> None:
    made = diagnostic().fix
    assert made is not None
    unsafe = diagnostic(fix=replace(made, safe=False))
    found = [diagnostic(), unsafe, diagnostic(code="TML201", name="missing-no-grad", fix=None)]
    assert rendered("concise", *found, statistics=True).splitlines() == [
        "2\tTML101\t[*] graph-kept-in-container\t1 safe, 1 unsafe fixes",
        "1\tTML201\t[ ] missing-no-grad",
    ]
    assert json.loads(rendered("json", *found, statistics=True))[0] == {
        "count": 2,
        "code": "TML101",
        "name": "graph-kept-in-container",
        "safe": 1,
        "unsafe": 1,
        "fixable": True,
    }
    assert "TML101  * graph-kept-in-container  (1 safe, 1 unsafe fixes)" in rendered("text", *found, statistics=True)


def test_json_has_the_contract_fields() -> None:
    (item,) = json.loads(rendered("json", diagnostic()))
    assert set(item) == {
        "filename", "code", "name", "severity", "message", "location", "end_location", "related", "fix", "noqa_row",
        "url", "impact", "cell",
    }  # fmt: skip
    assert (item["location"], item["end_location"]) == ({"row": 4, "column": 23}, {"row": 4, "column": 29})
    assert item["related"] == [
        {
            "message": "attached here",
            "filename": "a.py",
            "location": {"row": 2, "column": 10},
            "end_location": {"row": 2, "column": 18},
        }
    ]
    edit = {
        "content": "logits.detach()",
        "location": {"row": 4, "column": 23},
        "end_location": {"row": 4, "column": 29},
    }
    assert item["fix"] == {"applicability": "safe", "message": "store `logits.detach()`", "edits": [edit]}
    assert json.loads(rendered("json", diagnostic(fix=None)))[0]["fix"] is None
    assert json.loads(rendered("json")) == []


def test_github_escapes() -> None:
    found = diagnostic(filename="a,b:c.py", message="100%\r\nnext", severity=Severity.HINT)
    assert rendered("github", found) == (
        "::notice title=torchmemlint (TML101 graph-kept-in-container),file=a%2Cb%3Ac.py,line=4,col=23,endColumn=29,"
        "endLine=4::a,b:c.py:4:23: TML101 100%25%0D%0Anext\n"
    )
    assert "col=" not in rendered("github", diagnostic(end_location=Location(5, 2)))


def test_junit_is_xml_whatever_the_text() -> None:
    root = xml.fromstring(rendered("junit", diagnostic(message="<&>\x00\x1b \ud800"), diagnostic(filename="b.py")))
    assert root.attrib["failures"] == "2"
    assert [suite.attrib["name"] for suite in root] == ["a.py", "b.py"]
    failure = root.find("testsuite/testcase/failure")
    assert failure is not None
    assert failure.attrib["message"].startswith("<&>\ufffd\ufffd")
    clean = xml.fromstring(rendered("junit"))
    assert (clean.attrib["tests"], clean.attrib["failures"]) == ("1", "0")


def test_gitlab_has_what_its_merge_requests_ask_for() -> None:
    """The fields that GitLab's documentation of code quality reports requires."""
    again, hint = diagnostic(row=5, location=Location(5, 1)), diagnostic(code="TML201", severity=Severity.HINT)
    issues = json.loads(rendered("gitlab", diagnostic(), diagnostic(), again, hint))
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert set(issue["location"]["lines"]) == {"begin", "end"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
    assert issues[0]["location"] == {"path": "a.py", "lines": {"begin": 4, "end": 4}}
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    assert json.loads(rendered("gitlab")) == []


def test_junit_is_read_by_others(tmp_path: Path) -> None:
    junitparser = pytest.importorskip("junitparser")
    path = tmp_path / "report.xml"
    path.write_text(rendered("junit", diagnostic(), diagnostic(filename="b.py", row=5, location=Location(5, 1))))
    read = junitparser.JUnitXml.fromfile(str(path))
    assert [(suite.name, suite.tests, suite.failures) for suite in read] == [("a.py", 1, 1), ("b.py", 1, 1)]
    (case,) = next(iter(read))
    (failure,) = case.result
    assert isinstance(failure, junitparser.Failure)
    assert (case.name, failure.message) == ("TML101 graph-kept-in-container", "`logits` is kept")


def test_sarif(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inside, outside = str(tmp_path / "sub dir" / "a.py"), "/elsewhere/b.py"
    hint = {"code": "TML201", "name": "missing-no-grad", "severity": Severity.HINT, "fix": None, "related": ()}
    found = diagnostic(filename=inside), diagnostic(filename=inside), diagnostic(filename=outside, **hint)
    log = json.loads(rendered("sarif", *found))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["TML101", "TML201"]
    first, second, third = run["results"]
    assert rules[third["ruleIndex"]]["id"] == "TML201"
    assert [r["level"] for r in run["results"]] == ["error", "error", "note"]
    physical = first["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == "sub%20dir/a.py"
    assert physical["region"] == {"startLine": 4, "startColumn": 23, "endLine": 4, "endColumn": 29}
    assert third["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///elsewhere/b.py"
    assert first["relatedLocations"][0]["message"]["text"] == "attached here"
    replacement = first["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert replacement["insertedContent"] == {"text": "logits.detach()"}
    assert first["partialFingerprints"] != second["partialFingerprints"]


def test_control_characters_never_reach_a_terminal() -> None:
    assert printable("a\x1b[2J\x07\x9b\u202e\udcff") == "a\\x1b[2J\\x07\\x9b\\u202e\\udcff"
    for name in ("text", "concise"):
        text = rendered(name, diagnostic(filename="\x1b]0;x\x07.py", message="\x1b[8m"))
        assert "\x1b" not in text
        assert "\x07" not in text


def test_control_characters_in_code_are_escaped() -> None:
    stream = io.StringIO()
    report("text", [diagnostic(related=())], Context(lambda p: Source(p, b"\n\n\nx = '\x1b[8m\x0c'\n")), stream)
    assert "x = '\\x1b[8m\\x0c'" in stream.getvalue()


@pytest.mark.parametrize("format_name", FORMATS)
def test_each_format_is_one_short_module(format_name: str) -> None:
    import importlib

    module = importlib.import_module(f"torchmemlint.report.{format_name}")
    assert len(Path(str(module.__file__)).read_text(encoding="utf-8").splitlines()) <= 130
