"""One tree, asked through every door: the same findings in the same order."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lsp_client import Client

from torchmemlint.api import check

ROOT = Path(__file__).parent.parent
Found = list[tuple[str, int, int, str, str]]  # file, row, column, code, message


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    for pattern in ("TML101*", "TML103*", "TML201*", "TML303*", "TML602*"):
        for fixture in (ROOT / "fixtures").glob(pattern):
            shutil.copytree(fixture, folder / fixture.name.replace("-", "_"))
    (folder / "torchmemlint.toml").write_text("hints = true\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def expected(tree: Path) -> Found:
    found = [(d.filename, d.row, d.column, d.code, d.message) for d in check(tree)]
    assert len({code for _, _, _, code, _ in found}) > 5
    return found


def run(tree: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", *arguments, str(tree)]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stderr
    return done.stdout


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_check(tree: Path, expected: Found, jobs: str) -> None:
    found = json.loads(run(tree, "torchmemlint", "check", "--no-cache", "--jobs", jobs, "--output-format", "json"))
    places = [(d["filename"], d["location"]["row"], d["location"]["column"], d["code"], d["message"]) for d in found]
    assert places == expected


def test_the_api_with_two_processes(tree: Path, expected: Found) -> None:
    assert [(d.filename, d.row, d.column, d.code, d.message) for d in check(tree, jobs=2)] == expected


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_flake8(tree: Path, expected: Found, jobs: str) -> None:
    pytest.importorskip("flake8")
    lines = run(tree, "flake8", "--isolated", "--select", "TML", "-j", jobs).splitlines()
    parts = [re.fullmatch(r"(.*?):(\d+):(\d+): (TML\d+) (.*)", line) for line in lines]
    assert [(m[1], int(m[2]), int(m[3]), m[4], m[5]) for m in parts if m] == expected


def test_the_language_server(tree: Path, expected: Found) -> None:
    pytest.importorskip("pygls")
    found = []
    with Client([sys.executable, "-m", "torchmemlint", "server"], tree) as client:
        client.initialize(tree)
        for name in dict.fromkeys(name for name, *_ in expected):
            for d in client.diagnostics(client.open(Path(name))):
                start = d["range"]["start"]
                found.append((name, start["line"] + 1, start["character"] + 1, d["code"], d["message"]))
    assert found == expected
