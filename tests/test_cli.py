"""The command line: options, exit codes, standard input, what is written; in this process."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import surface
from click.testing import CliRunner, Result
from surface import TRAIN, write

from torchmemlint.cli import main
from torchmemlint.progress import Bar
from torchmemlint.progress import bar as progress_bar


@pytest.fixture(autouse=True)
def _analysis(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    surface.install(monkeypatch)
    monkeypatch.chdir(tmp_path)


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, list(arguments), input=stdin)


def check(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return run("check", "--output-format", "concise", *arguments, stdin=stdin)


def codes(result: Result) -> list[str]:
    return [line.split(": ")[1].split()[0] for line in result.stdout.splitlines()]


def test_exit_codes() -> None:
    write("import torch\n")
    assert check().exit_code == 0
    write()
    assert check().exit_code == 1
    assert check("--exit-zero").exit_code == 0
    assert check("nowhere.py").exit_code == 2
    assert "does not exist" in check("nowhere.py").stderr


def test_an_empty_folder_is_clean() -> None:
    result = run("check")
    assert (result.exit_code, result.stdout) == (0, "No findings in 0 files.\n")


def test_selection() -> None:
    write()
    assert codes(check()) == ["TML101", "TML201"]
    assert codes(check("--select", "TML1")) == ["TML101"]
    assert codes(check("--select", "tml2,TML304")) == ["TML201", "TML304"]
    assert codes(check("--select", "ALL")) == ["TML101", "TML201", "TML304"]
    assert codes(check("--select", "ALL", "--ignore", "TML1", "--ignore", "TML2")) == ["TML304"]
    assert codes(check("--extend-select", "TML3")) == ["TML101", "TML201", "TML304"]
    assert codes(check("--ignore", "TML101")) == ["TML201"]


@pytest.mark.parametrize("option", ["--select", "--ignore", "--extend-select"])
def test_unknown_codes_are_usage_errors(option: str) -> None:
    result = check(option, "TML1O1")
    assert result.exit_code == 2
    assert "unknown rule code `TML1O1`; did you mean `TML101`?" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--no-such-option"],
        ["check", "--jobs", "0"],
        ["check", "--output-format", "xml"],
        ["check", "-", "a.py"],
        ["check", "-", "--add-noqa"],
        ["check", "--add-noqa", "--fix"],
        ["check", "--update-baseline"],
        ["check", "--config", "x.toml", "--isolated"],
        ["check", "--config", "missing.toml"],
        ["chekc"],
        ["explain", "TML1000"],
    ],
)
def test_usage_errors(arguments: list[str]) -> None:
    write()
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr
    assert "Traceback" not in result.output


def test_settings_are_found_named_or_ignored() -> None:
    write(name="sub/a.py")
    write('[tool.torchmemlint]\nignore = ["TML1"]\n', "sub/pyproject.toml")
    write("hints = true\n", "other.toml")
    assert codes(check("sub")) == ["TML201"]
    assert codes(check("sub", "--isolated")) == ["TML101", "TML201"]
    assert codes(check("sub", "--config", "other.toml")) == ["TML101", "TML201", "TML304"]


def test_broken_settings() -> None:
    write()
    write("[tool.torchmemlint]\nselect = [\n", "pyproject.toml")
    result = check()
    assert result.exit_code == 2
    assert "pyproject.toml:2:" in result.stderr
    write('[tool.torchmemlint]\nselect = ["TML1O1"]\n', "pyproject.toml")
    assert "pyproject.toml: unknown rule code `TML1O1`" in check().stderr
    write("[tool.torchmemlint]\nhint = true\n", "pyproject.toml")
    assert "did you mean `hints`?" in check().stderr


def test_fix_writes_safe_fixes() -> None:
    path = write()
    result = run("check", "--fix")
    assert result.exit_code == 1
    assert path.read_text(encoding="utf-8") == TRAIN.replace("keep(x)", "keep(x.detach())")
    assert "Found 1 finding (1 warning) in 1 file. Fixed 1 finding (1 TML101)." in result.stdout
    assert "Left: 1 with an unsafe fix (--unsafe-fixes)." in result.stdout
    assert run("check", "--fix", "--unsafe-fixes").exit_code == 0
    assert "waste(y.detach())" in path.read_text(encoding="utf-8")


def test_fix_only_says_what_was_fixed_and_no_more() -> None:
    path = write()
    result = run("check", "--fix-only")
    assert (result.exit_code, result.stdout) == (0, "Fixed 1 finding (1 TML101).\n")
    assert path.read_text(encoding="utf-8") == TRAIN.replace("keep(x)", "keep(x.detach())")
    assert run("check", "--fix-only", "--quiet").stdout == ""
    assert run("check", "--fix-only", "--add-noqa").exit_code == 2
    piped = run("check", "-", "--fix-only", stdin=TRAIN)
    assert (piped.exit_code, piped.stdout) == (0, TRAIN.replace("keep(x)", "keep(x.detach())"))
    assert piped.stderr == "Fixed 1 finding (1 TML101).\n"


def test_what_a_baseline_hides_is_not_fixed() -> None:
    path = write()
    check("--baseline", "known.json")
    write(TRAIN + "keep(w)\n")
    assert run("check", "--baseline", "known.json", "--fix").exit_code == 0
    assert path.read_text(encoding="utf-8") == TRAIN + "keep(w.detach())\n"


def test_fixes_of_a_selection() -> None:
    path = write()
    assert run("check", "--fix", "--unsafe-fixes", "--select", "TML201").exit_code == 0
    assert path.read_text(encoding="utf-8") == TRAIN.replace("waste(y)", "waste(y.detach())")


def test_hints_that_are_not_shown_are_not_fixed() -> None:
    path = write("import torch\nsmall(z)\n")
    assert run("check", "--fix", "--unsafe-fixes").exit_code == 0
    assert path.read_text(encoding="utf-8") == "import torch\nsmall(z)\n"


def test_unsafe_fixes_from_the_settings() -> None:
    path = write()
    write("unsafe-fixes = true\n", "torchmemlint.toml")
    assert run("check", "--fix", "--no-unsafe-fixes").exit_code == 1
    assert run("check", "--fix").exit_code == 0
    assert "waste(y.detach())" in path.read_text(encoding="utf-8")


def test_diff_shows_and_writes_nothing() -> None:
    path = write()
    result = run("check", "--diff")
    assert result.exit_code == 1
    assert "-keep(x)\n+keep(x.detach())\n" in result.stdout
    assert path.read_text(encoding="utf-8") == TRAIN
    write("import torch\nwaste(y)\n")
    assert run("check", "--diff").exit_code == 0
    assert run("check", "--diff").stdout == ""


def test_standard_input() -> None:
    assert check("-", stdin=TRAIN).stdout.startswith("<stdin>:2:1: TML101")
    result = check("-", "--stdin-filename", "pkg/new.py", stdin=TRAIN)
    assert result.stdout.startswith(str(Path("pkg/new.py")) + ":2:1: TML101")
    assert check("-", stdin="x = 1\n").exit_code == 0
    assert codes(check("-", stdin="def f(:\n")) == ["TML000"]
    assert codes(check("-", stdin=b"x = '\xff'\n")) == ["TML000"]


def test_standard_input_takes_the_settings_of_its_name() -> None:
    write('ignore = ["TML1"]\n', "sub/torchmemlint.toml")
    assert codes(check("-", "--stdin-filename", "sub/a.py", stdin=TRAIN)) == ["TML201"]


def test_fixing_standard_input_prints_the_text() -> None:
    result = run("check", "-", "--fix", stdin=b"\xef\xbb\xbfimport torch\r\nkeep(x)\r\nwaste(y)\r\n")
    assert result.stdout_bytes == b"\xef\xbb\xbfimport torch\r\nkeep(x.detach())\r\nwaste(y)\r\n"
    assert "TML201" in result.stderr
    assert run("check", "-", "--fix", stdin="x = 1\n").stdout == "x = 1\n"
    assert "+keep(x.detach())" in run("check", "-", "--diff", stdin=TRAIN).stdout


def test_add_noqa() -> None:
    path = write()
    result = run("check", "--add-noqa")
    assert (result.exit_code, result.stderr) == (0, "Added `# noqa` to 2 lines.\n")
    assert "keep(x)  # noqa: TML101\nwaste(y)  # noqa: TML201\nsmall(z)\n" in path.read_text(encoding="utf-8")
    assert check().exit_code == 0
    assert check("--select", "ALL", "--ignore", "TML3").exit_code == 0


def test_baseline() -> None:
    write()
    first = check("--baseline", "known.json")
    assert (first.exit_code, first.stdout) == (0, "")
    assert "baseline written, 2 findings" in first.stderr
    assert check("--baseline", "known.json").exit_code == 0
    write("import torch\n\n\nwaste(y)\n" + TRAIN + "keep(x)\n")
    result = check("--baseline", "known.json")
    assert result.exit_code == 1
    assert [line.split(":")[1] for line in result.stdout.splitlines()] == ["7", "9"]
    assert check("--baseline", "known.json", "--update-baseline").exit_code == 0
    assert check("--baseline", "known.json").exit_code == 0


def test_a_broken_baseline() -> None:
    write()
    for text in ("", "[]", '{"findings": {"a": "b"}}', "{"):
        write(text, "known.json")
        result = check("--baseline", "known.json")
        assert result.exit_code == 2
        assert "not a baseline" in result.stderr


def test_a_baseline_holds_from_other_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    write(name="sub/a.py")
    check("--baseline", "known.json")
    monkeypatch.chdir("sub")
    assert check("a.py", "--baseline", "../known.json").exit_code == 0


@pytest.mark.parametrize("name", ["json", "sarif"])
def test_machine_formats_are_nothing_but_json(name: str) -> None:
    write()
    result = run("check", "--output-format", name)
    assert result.exit_code == 1
    assert json.loads(result.stdout)
    assert run("check", "--output-format", name, "--exit-zero").exit_code == 0


def test_statistics_show_files_and_quiet() -> None:
    write(TRAIN + "keep(w)\n")
    assert check("--statistics").stdout.splitlines()[0] == "2\tTML101\t[*] graph-kept-in-container\t2 safe fixes"
    assert check("--show-files").stdout == "a.py\n"
    assert "Found" in run("check").stdout
    assert "Found" not in run("check", "--quiet").stdout
    assert "TML101" in run("check", "--quiet").stdout


def test_accepted_options() -> None:
    write()
    assert codes(check("--no-cache", "--jobs", "2", "--no-progress")) == ["TML101", "TML201"]
    assert codes(check("--progress", "-j", "1")) == ["TML101", "TML201"]


def test_unreadable_files_are_findings_and_the_rest_goes_on() -> None:
    write("import torch\ndef f(:\n", "bad.py")
    write()
    result = check()
    assert result.exit_code == 1
    assert codes(result) == ["TML101", "TML201", "TML000"]


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_a_finding() -> None:
    write().chmod(0)
    assert codes(check()) == ["TML000"]


def test_a_failure_of_the_tool_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("oops")

    write()
    monkeypatch.setattr("torchmemlint.engine.Session.check", fail)
    result = check()
    assert result.exit_code == 2
    assert result.stderr.startswith("torchmemlint: error: internal error, ZeroDivisionError: oops")


def test_rules_and_explain() -> None:
    listed = run("rules").stdout
    assert "TML101" in listed
    assert "unused-suppression" in listed
    text = run("explain", "tml101").stdout
    assert text.startswith("TML101 graph-kept-in-container (error)\n\nSomething is kept.")
    assert "Bad\n" in text
    assert "# TML101" in text
    assert run("explain", "graph-kept-in-container").stdout == text
    assert "silences nothing" in run("explain", "TML001").stdout
    assert "did you mean `TML101`?" in run("explain", "TML10").stderr + run("explain", "TML110").stderr


def test_clean_removes_a_cache_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCHMEMLINT_CACHE_DIR")
    write('[tool.torchmemlint]\ncache-dir = ".torchmemlint_cache"\n', "pyproject.toml")
    write("x", ".torchmemlint_cache/keep.txt")
    assert run("clean").exit_code == 0
    assert Path(".torchmemlint_cache/keep.txt").exists()
    write("Signature: 8a477f597d28d172789f06886806bc55", ".torchmemlint_cache/CACHEDIR.TAG")
    assert run("clean").exit_code == 0
    assert [path.name for path in Path(".torchmemlint_cache").iterdir()] == ["keep.txt"]
    Path(".torchmemlint_cache/keep.txt").unlink()
    check()
    assert Path(".torchmemlint_cache/CACHEDIR.TAG").exists()
    assert run("clean").exit_code == 0
    assert not Path(".torchmemlint_cache").exists()


def test_the_progress_bar_waits_and_goes_away(capsys: pytest.CaptureFixture[str]) -> None:
    patient, eager = Bar(60.0), Bar(0.0)
    for bar in (patient, eager):
        bar("checking", 1, 2)
        bar("checking", 2, 2)
        bar.close()
    assert patient.display is None
    assert "checking" in capsys.readouterr().err


def test_no_bar_outside_a_terminal() -> None:
    with progress_bar(None) as shown:
        assert shown is None
