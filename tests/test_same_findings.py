"""One tree, asked through every door: the same findings in the same order.

The small tree is a few fixtures. The large one holds all fixtures, look-alikes and disguises, a project whose modules
call each other in rings, a notebook, and files in odd encodings."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from benchmarking import script
from books import notebook
from lsp_client import Client

from torchmemlint.api import check
from torchmemlint.findings import Diagnostic

ROOT = Path(__file__).parent.parent
Found = list[tuple[str, int, int, str, str]]  # file, row, column, code, message
KEPT = """\
import torch
from torch import nn


def evaluate(loader):
    model = nn.Linear(256, 10)
    losses = ['é']
    for images, labels in loader:
        losses.append(nn.functional.cross_entropy(model(images), labels))
    return torch.stack(losses[1:]).mean().item()
"""


def copied(folder: Path, *patterns: str) -> None:
    for pattern in patterns:
        for fixture in sorted((ROOT / "fixtures").glob(pattern)):
            shutil.copytree(fixture, folder / fixture.name.replace("-", "_"))


def small(folder: Path) -> None:
    copied(folder, "TML101*", "TML103*", "TML201*", "TML303*", "TML602*")


def large(folder: Path) -> None:
    copied(folder, "TML*")
    for name in ("disguises", "lookalikes"):
        shutil.copytree(ROOT / "tests" / name, folder / name)
    synthetic = script("synthetic")
    synthetic.write(folder / "rings", synthetic.Shape(modules=14, functions=4, depth=60, cycle=20))
    odd = folder / "odd files"
    odd.mkdir()
    (odd / "latin.py").write_bytes(f"# coding: latin-1\n{KEPT}".encode("latin-1"))
    (odd / "windows.py").write_bytes(("\ufeff" + KEPT.replace("\n", "\r\n")).encode())
    (odd / "größe.py").write_text(KEPT.replace("losses.append(", "losses.append('😀' and "), encoding="utf-8")
    (odd / "broken.py").write_text(f"{KEPT}\ndef f(:\n", encoding="utf-8")
    (odd / "book.ipynb").write_text(notebook(KEPT), encoding="utf-8")


@pytest.fixture(scope="module", params=[small, pytest.param(large, marks=pytest.mark.slow)], ids=["small", "large"])
def tree(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    request.param(folder)
    (folder / "torchmemlint.toml").write_text("hints = true\n", encoding="utf-8")
    return folder


def rows(found: Iterable[Diagnostic]) -> Found:
    return [(d.filename, d.location.row, d.location.column, d.code, d.message) for d in found]


@pytest.fixture(scope="module")
def expected(tree: Path) -> Found:
    found = rows(check(tree))
    assert len({code for _, _, _, code, _ in found}) > 5
    return found


def run(tree: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", *arguments, str(tree)]
    done = subprocess.run(command, cwd=tree, capture_output=True, encoding="utf-8", timeout=900, check=False)
    assert done.returncode == 1, done.stderr
    return done.stdout


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_check(tree: Path, expected: Found, jobs: str) -> None:
    found = json.loads(run(tree, "torchmemlint", "check", "--no-cache", "--jobs", jobs, "--output-format", "json"))
    places = [(d["filename"], d["location"]["row"], d["location"]["column"], d["code"], d["message"]) for d in found]
    assert places == expected


def test_the_cache(tree: Path, expected: Found) -> None:
    outputs = [run(tree, "torchmemlint", "check", "--output-format", "concise") for _ in range(2)]
    assert outputs[0] == outputs[1]
    assert len(outputs[1].splitlines()) == len(expected)


def test_the_api_with_two_processes(tree: Path, expected: Found) -> None:
    assert rows(check(tree, jobs=2)) == expected


def test_a_dask_cluster(tree: Path, expected: Found) -> None:
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        assert rows(check(tree, executor=client.get_executor())) == expected


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_flake8(tree: Path, expected: Found, jobs: str) -> None:
    """flake8 checks no notebooks, and reports files that don't parse itself."""
    pytest.importorskip("flake8")
    lines = run(tree, "flake8", "--isolated", "--select", "TML", "-j", jobs).splitlines()
    parts = [re.fullmatch(r"(.*?):(\d+):(\d+): (TML\d+) (.*)", line) for line in lines]
    theirs = [row for row in expected if row[0].endswith(".py") and row[3] != "TML000"]
    assert [(m[1], int(m[2]), int(m[3]), m[4], m[5]) for m in parts if m] == theirs


def test_the_language_server(tree: Path, expected: Found) -> None:
    """All files are opened, the last one first, and stay open."""
    pytest.importorskip("pygls")
    found: Found = []
    with Client([sys.executable, "-m", "torchmemlint", "server"], tree) as client:
        client.initialize(tree)
        for path in sorted((p for p in tree.rglob("*.py") if p.name != "latin.py"), reverse=True):
            lines = path.read_text(encoding="utf-8-sig").splitlines()
            for d in client.diagnostics(client.open(path)):
                row, units = d["range"]["start"]["line"], d["range"]["start"]["character"]
                column = len(lines[row].encode("utf-16-le")[: 2 * units].decode("utf-16-le"))
                found.append((str(path), row + 1, column + 1, d["code"], d["message"]))
    names = list(dict.fromkeys(row[0] for row in expected))
    found.sort(key=lambda row: names.index(row[0]))
    skipped = ("latin.py", ".ipynb")  # editors hand over decoded text; notebooks are none of the server's
    assert found == [row for row in expected if not row[0].endswith(skipped)]
