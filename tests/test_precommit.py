"""The pre-commit hooks: a real pre-commit builds the hook's environment from a repository and runs it in another."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pre_commit")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("git") is None, reason="needs git")]

ROOT = Path(__file__).parent.parent
NOT_COPIED = shutil.ignore_patterns(".git", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "build", "dist")
KEPT = """\
import torch
from torch import nn


def validate(loader, device):
    model = nn.Linear(256, 10).to(device)
    losses = []
    for images, labels in loader:
        outputs = model(images)
        losses.append(nn.functional.cross_entropy(outputs, labels))
    return torch.stack(losses).mean().item()
"""
CONFIG = """\
repos:
  - repo: {repo}
    rev: {rev}
    hooks:
      - id: {hook}
"""


class Repository:
    """A git repository whose commands see no settings of the user's."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        scripts = str(Path(sys.executable).parent)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PRE_COMMIT"))}
        self.environment = {
            **kept,
            "PATH": os.pathsep.join([scripts, kept["PATH"]]),
            "PRE_COMMIT_HOME": str(home),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org",
        }  # fmt: skip

    def run(self, *command: str, code: int = 0) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def commit(self, message: str = "change", code: int = 0) -> str:
        self.run("git", "add", "--all")
        return self.run("git", "commit", "--quiet", "--message", message, code=code)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pre-commit")


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory, home: Path) -> tuple[Path, str]:
    """This checkout as a repository of hooks, and its revision."""
    folder = Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("hooks") / "torchmemlint", ignore=NOT_COPIED))
    repository = Repository(folder, home)
    repository.run("git", "init", "--quiet")
    repository.commit()
    return folder, repository.run("git", "rev-parse", "HEAD").strip()


def project(folder: Path, hooks: tuple[Path, str], home: Path, hook: str) -> Repository:
    folder.mkdir()
    repository = Repository(folder, home)
    repository.run("git", "init", "--quiet")
    config = CONFIG.format(repo=hooks[0].as_posix(), rev=hooks[1], hook=hook)
    (folder / ".pre-commit-config.yaml").write_text(config, encoding="utf-8")
    repository.run("pre-commit", "install")
    return repository


def test_the_hook_stops_a_commit_and_lets_a_good_one_pass(tmp_path: Path, hooks: tuple[Path, str], home: Path) -> None:
    repository = project(tmp_path / "project", hooks, home, "torchmemlint")
    file = repository.folder / "train.py"
    file.write_text(KEPT, encoding="utf-8")
    output = repository.commit(code=1)
    assert "train.py:10:9: TML101" in output
    assert "Found" not in output
    assert file.read_text(encoding="utf-8") == KEPT
    file.write_text(KEPT.replace("labels))", "labels).item())").replace("torch.stack(losses).mean().item()", "losses"))
    repository.commit()
    assert "train.py" in repository.run("git", "ls-files")


def test_no_python_file_staged_is_no_failure(tmp_path: Path, hooks: tuple[Path, str], home: Path) -> None:
    repository = project(tmp_path / "project", hooks, home, "torchmemlint")
    (repository.folder / "notes.md").write_text("nothing\n", encoding="utf-8")
    assert "no files to check" in repository.commit()


def test_the_fixing_hook_mends_the_file_and_the_next_commit_passes(
    tmp_path: Path, hooks: tuple[Path, str], home: Path
) -> None:
    repository = project(tmp_path / "project", hooks, home, "torchmemlint-fix")
    file = repository.folder / "train.py"
    file.write_text(KEPT, encoding="utf-8")
    assert "files were modified by this hook" in repository.commit(code=1)
    assert "labels).detach())" in file.read_text(encoding="utf-8")
    repository.commit()
    assert "labels).detach())" in repository.run("git", "show", "HEAD:train.py")
