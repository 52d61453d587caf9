"""Which files are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchmemlint.config import Config
from torchmemlint.discover import MissingPath, discover


def make(root: Path, *files: str) -> None:
    for file in files:
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")


def found(root: Path, *paths: str, config: Config | None = None) -> list[str]:
    result = discover([str(root / p) for p in paths or ("",)], config or Config(root=str(root)))
    return [Path(p).relative_to(root).as_posix() for p in result]


def test_python_files_only_sorted(tmp_path: Path) -> None:
    make(tmp_path, "b.py", "a/z.py", "a.pyi", "c.txt", "a/y.PY", "a/x.pyc")
    assert found(tmp_path) == ["a/z.py", "b.py"]


def test_excluded_folders(tmp_path: Path) -> None:
    make(tmp_path, "a.py", ".venv/x.py", "build/x.py", "sub/node_modules/x.py", "lib/site-packages/x.py", ".git/x.py")
    assert found(tmp_path) == ["a.py"]


def test_a_repository_below_a_folder_named_build_is_found(tmp_path: Path) -> None:
    root = tmp_path / "build" / "venv" / "project"
    make(root, "a.py", "build/b.py")
    assert found(root) == ["a.py"]
    assert found(tmp_path, "build/venv") == ["build/venv/project/a.py"]


def test_gitignore_of_every_level(tmp_path: Path) -> None:
    make(
        tmp_path, "a.py", "gen_a.py", "sub/gen_b.py", "sub/keep_gen.py", "sub/deep/own.py", "sub/deep/b.py", "out/c.py"
    )
    (tmp_path / ".gitignore").write_text("gen_*.py\n/out/\n", encoding="utf-8")
    (tmp_path / "sub" / ".gitignore").write_text("!gen_b.py\n", encoding="utf-8")
    (tmp_path / "sub" / "deep" / ".gitignore").write_text("/own.py\n", encoding="utf-8")
    assert found(tmp_path) == ["a.py", "sub/deep/b.py", "sub/gen_b.py", "sub/keep_gen.py"]


def test_gitignore_above_counts_up_to_the_repository_root(tmp_path: Path) -> None:
    make(tmp_path, "repo/sub/a.py", "repo/sub/b.py")
    (tmp_path / ".gitignore").write_text("a.py\n", encoding="utf-8")
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / "repo" / ".gitignore").write_text("b.py\n", encoding="utf-8")
    assert found(tmp_path / "repo", "sub") == ["sub/a.py"]


def test_a_folder_ignored_as_a_whole_is_walked_when_named(tmp_path: Path) -> None:
    make(tmp_path, "out/a.py", "b.py")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("out/\n", encoding="utf-8")
    assert found(tmp_path) == ["b.py"]
    assert found(tmp_path, "out") == ["out/a.py"]


def test_broken_patterns_are_passed(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "b.py")
    (tmp_path / ".gitignore").write_text("!\n\\\nb.py\n", encoding="utf-8")
    assert found(tmp_path) == ["a.py"]


def test_named_files_are_always_in(tmp_path: Path) -> None:
    make(tmp_path, "build/a.py", "script", "x.pyi")
    (tmp_path / ".gitignore").write_text("*\n", encoding="utf-8")
    assert found(tmp_path, "build/a.py", "script", "x.pyi") == ["build/a.py", "script", "x.pyi"]


def test_exclude_replaces_and_extend_exclude_adds(tmp_path: Path) -> None:
    make(tmp_path, "build/a.py", "third/b.py", "c.py", "d_pb2.py")
    root = str(tmp_path)
    assert found(tmp_path, config=Config(root=root, exclude=("third",))) == ["build/a.py", "c.py", "d_pb2.py"]
    assert found(tmp_path, config=Config(root=root, extend_exclude=("third/", "*_pb2.py"))) == ["c.py"]


def test_each_file_once(tmp_path: Path) -> None:
    make(tmp_path, "a/b.py")
    assert found(tmp_path, "a", "", "a/b.py") == ["a/b.py"]


def test_symlink_loops_end(tmp_path: Path) -> None:
    make(tmp_path, "a/b.py")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "a" / "c.py").symlink_to(tmp_path / "a" / "b.py")
    (tmp_path / "dangling.py").symlink_to(tmp_path / "nowhere.py")
    assert found(tmp_path) == ["a/b.py"]


def test_missing_path(tmp_path: Path) -> None:
    with pytest.raises(MissingPath, match="does not exist"):
        discover([str(tmp_path / "no.py")], Config())


def test_relative_paths_stay_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a/b.py")
    monkeypatch.chdir(tmp_path)
    assert discover(["."], Config()) == [str(Path("a/b.py"))]
    assert discover(["./a"], Config()) == [str(Path("a/b.py"))]
    monkeypatch.chdir(tmp_path / "a")
    assert discover(["../a"], Config()) == [str(Path("../a/b.py"))]
