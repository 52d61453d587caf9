"""The command line in processes of its own: start-up, exit codes, odd input, pipes and encodings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from surface import write


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def process(*arguments: str, stdin: bytes | None = None, **variables: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "torchmemlint", *arguments]
    environment = {**os.environ, **variables}
    return subprocess.run(command, input=stdin, capture_output=True, timeout=120, check=False, env=environment)


def test_version_imports_next_to_nothing() -> None:
    code = (
        "import sys\nfrom torchmemlint.cli import main\n"
        "try:\n    main(['--version'])\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'libcst', 'rich', 'pathspec', 'torch', 'torchmemlint.engine'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout.startswith(b"torchmemlint, version ")


def test_exit_codes_of_processes() -> None:
    write("import torch\ndef f(:\n", "bad.py")
    write("x = 1\n", "good.py")
    assert process("check", "good.py").returncode == 0
    assert process("check", "bad.py").returncode == 1
    assert process("check", "bad.py", "--exit-zero").returncode == 0
    assert process("check", "missing.py").returncode == 2
    assert process("check", "--select", "XYZ").returncode == 2
    assert process("--help").returncode == 0


@pytest.mark.parametrize(
    ("data", "row"),
    [
        (b"import torch\nprint 'hello'\n", 2),
        (b"import torch\nx = " + b"(" * 300 + b"1" + b")" * 300 + b"\n", 2),
        (b"import torch\nx = " + b"not " * 300 + b"1\n", None),
        (b"import torch\n" + b"".join(b" " * i + b"if x:\n" for i in range(300)) + b" " * 300 + b"y\n", None),
        (b"import torch\nx = \0\n", 2),
        (b"", None),
        (b"# coding: latin-1\nimport torch\nx = '\xe9'\n", None),
        (b"import torch\nx = lambda: " + b"lambda: " * 3000 + b"1\n", None),
    ],
)
def test_no_input_gives_a_traceback(data: bytes, row: int | None) -> None:
    Path("a.py").write_bytes(data)
    result = process("check", "--output-format", "json", "a.py")
    assert result.returncode in (0, 1)
    assert b"Traceback" not in result.stderr
    found = json.loads(result.stdout)
    assert all(item["code"] in ("TML000", "TML999") for item in found)
    assert result.returncode == bool(found)
    if row:
        assert [item["location"]["row"] for item in found] == [row]


def test_a_closed_pipe_is_no_error() -> None:
    for i in range(300):
        write("import torch\ndef f(:\n", f"m{i}.py")
    command = f"{sys.executable} -m torchmemlint check --output-format concise | head -n 1"
    result = subprocess.run(command, shell=True, capture_output=True, timeout=120, check=False)
    assert result.stdout.count(b"\n") == 1
    assert result.stderr == b""


def test_narrow_encodings_and_odd_file_names() -> None:
    write("import torch\ndef ü(:\n", "größe\x1b[31m.py")
    for name in ("text", "concise", "json", "sarif", "github", "junit"):
        result = process("check", "--output-format", name, PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
        assert result.returncode == 1, (name, result.stderr)
        assert b"Traceback" not in result.stderr
        assert name == "github" or b"\x1b" not in result.stdout
