"""`check --diff-base`: findings on changed lines only, as a real git tells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

FUNCTION = """\
def {name}(loader):
    model = nn.Linear(256, 10)
    losses = []
    for images, labels in loader:
        losses.append(nn.functional.cross_entropy(model(images), labels))
    return torch.stack(losses).mean().item()
"""
HEAD = "import torch\nfrom torch import nn\n\n\n"


def text(*names: str) -> str:
    return HEAD + "\n\n".join(FUNCTION.format(name=name) for name in names)


def git(*arguments: str) -> str:
    who = {"GIT_CONFIG_GLOBAL": os.devnull}
    for role in ("AUTHOR", "COMMITTER"):
        who |= {f"GIT_{role}_NAME": "a", f"GIT_{role}_EMAIL": "a@example.org"}
    command = ["git", *arguments]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return subprocess.run(command, env={**kept, **who}, capture_output=True, text=True, check=True, timeout=60).stdout


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torchmemlint", "check", "--output-format", "concise", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def places(*arguments: str) -> list[str]:
    result = check("--select", "TML101", *arguments)
    assert result.stderr == ""
    return [":".join(line.split(":")[:2]) for line in result.stdout.splitlines()]


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet", "--initial-branch", "main")
    Path("a.py").write_text(text("first"), encoding="utf-8")
    git("add", ".")
    git("commit", "--quiet", "--message", "one")


def test_only_findings_on_changed_lines_are_reported() -> None:
    assert places() == ["a.py:9"]
    assert places("--diff-base", "HEAD") == []
    assert check("--diff-base", "HEAD", "--select", "TML101").returncode == 0
    Path("a.py").write_text(text("first", "second"), encoding="utf-8")
    assert places("--diff-base", "HEAD") == ["a.py:17"]
    assert check("--diff-base", "HEAD").returncode == 1
    Path("a.py").write_text(text("zeroth", "first"), encoding="utf-8")
    assert len(places("--diff-base", "HEAD")) == 1
    Path("a.py").write_text("# moved\n" + text("first"), encoding="utf-8")
    assert places("--diff-base", "HEAD") == []


def test_files_that_git_does_not_know_are_new() -> None:
    Path("sub dir").mkdir()
    Path("sub dir/b.py").write_text(text("other"), encoding="utf-8")
    assert places("--diff-base", "HEAD") == ["sub dir/b.py:9"]
    git("add", ".")
    assert places("--diff-base", "HEAD") == ["sub dir/b.py:9"]
    git("commit", "--quiet", "--message", "two")
    assert places("--diff-base", "HEAD") == []
    assert places("--diff-base", "HEAD~1", "sub dir") == ["sub dir/b.py:9"]


def test_a_branch_is_compared_with_where_it_left() -> None:
    git("checkout", "--quiet", "-b", "feature")
    Path("b.py").write_text(text("feature"), encoding="utf-8")
    git("add", ".")
    git("commit", "--quiet", "--message", "feature")
    git("checkout", "--quiet", "main")
    Path("a.py").write_text("import torch\n", encoding="utf-8")
    git("commit", "--quiet", "--all", "--message", "main goes on")
    git("checkout", "--quiet", "feature")
    assert places("--diff-base", "main") == ["b.py:9"]


def test_notebooks_are_compared_by_their_json() -> None:
    nbformat = pytest.importorskip("nbformat")
    cells = [nbformat.v4.new_code_cell(text("one")), nbformat.v4.new_code_cell("x = 1")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), "n.ipynb")
    git("add", ".")
    git("commit", "--quiet", "--message", "notebook")
    assert places("--diff-base", "HEAD") == []
    cells[1].source = FUNCTION.format(name="two")
    nbformat.write(nbformat.v4.new_notebook(cells=cells), "n.ipynb")
    assert check("--select", "TML101", "--diff-base", "HEAD").stdout.startswith("n.ipynb:cell 2:5:9: TML101")


def test_what_git_cannot_tell_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = check("--diff-base", "origin/nowhere")
    assert result.returncode == 2
    assert result.stderr.startswith("torchmemlint: error: --diff-base: git knows no revision `origin/nowhere` here")
    Path("a.py").write_text("import torch\n", encoding="utf-8")  # nothing is found, and in files that git doesn't know
    assert check("--diff-base", "origin/nowhere").returncode == 2
    Path("new").mkdir()
    Path("new/b.py").write_text(text("first"), encoding="utf-8")
    assert check("--diff-base", "origin/nowhere", "new").returncode == 2
    assert check("--diff-base", "--output=x").returncode == 2
    assert check("--diff-base", "HEAD", "--fix").returncode == 2
    (tmp_path.parent / f"{tmp_path.name} outside").mkdir()
    monkeypatch.chdir(tmp_path.parent / f"{tmp_path.name} outside")
    Path("a.py").write_text(text("first"), encoding="utf-8")
    result = check("--diff-base", "HEAD")
    assert result.returncode == 2
    assert "not a git repository" in result.stderr
