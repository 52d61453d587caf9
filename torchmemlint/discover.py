"""Which files are checked: .py files and notebooks under the given paths, less what .gitignore and excludes name."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH100, PTH110, PTH112, PTH114, PTH116, PTH118, PTH120

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from torchmemlint.config import Config

if TYPE_CHECKING:
    import pathspec

EXCLUDED = (
    ".bzr", ".cache", ".direnv", ".eggs", ".git", ".hg", ".hypothesis", ".ipynb_checkpoints", ".mypy_cache", ".nox",
    ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox", ".torchmemlint_cache", ".venv", ".vscode",
    "__pycache__", "__pypackages__", "_build", "build", "buck-out", "dist", "node_modules", "site-packages", "venv",
)  # fmt: skip
SUFFIXES = (".py", ".ipynb")


class MissingPath(Exception):
    """A path on the command line that does not exist."""


@dataclass(frozen=True)
class _Ignore:
    """The patterns of one .gitignore (or exclude list), relative to its folder."""

    folder: str
    spec: pathspec.GitIgnoreSpec

    def verdict(self, path: str, is_dir: bool) -> bool | None:
        """True: ignored, False: taken back in by a `!` pattern, None: not mentioned."""
        prefix = self.folder if self.folder.endswith(os.sep) else self.folder + os.sep
        if not path.startswith(prefix):
            return None
        relative = path[len(prefix) :].replace(os.sep, "/")
        return self.spec.check_file(relative + "/" if is_dir else relative).include


@dataclass
class _Walk:
    """One walk: the exclude list and the visited folders, by device and inode, which end symlink loops."""

    excludes: tuple[_Ignore, ...]
    names: frozenset[str]
    seen: set[tuple[int, int]] = field(default_factory=set)

    def files(self, folder: str, ignores: tuple[_Ignore, ...]) -> Iterator[str]:
        """Every file to check below `folder`, as `folder` is spelled."""
        todo = [(folder, ignores)]
        while todo:
            here, ignores = todo.pop()
            if not self._new(here):
                continue
            ignores = (*ignores, *_gitignore(here))
            for entry in _entries(here):
                is_dir = _is_dir(entry)
                if not is_dir and not entry.name.endswith(SUFFIXES):
                    continue
                path = entry.name if here == "." else entry.path
                if self._skipped(path, entry.name, is_dir, ignores):
                    continue
                if is_dir:
                    todo.append((path, ignores))
                elif _is_file(entry):
                    yield path

    def _new(self, folder: str) -> bool:
        try:
            status = os.stat(folder)
        except OSError:
            return False
        key = (status.st_dev, status.st_ino)
        known = key in self.seen
        self.seen.add(key)
        return not known

    def _skipped(self, path: str, name: str, is_dir: bool, ignores: tuple[_Ignore, ...]) -> bool:
        if is_dir and name in self.names:
            return True
        absolute = os.path.abspath(path)
        if any(x.verdict(absolute, is_dir) for x in self.excludes):
            return True
        verdicts = (x.verdict(absolute, is_dir) for x in reversed(ignores))
        return bool(next((v for v in verdicts if v is not None), False))


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _gitignore(folder: str) -> tuple[_Ignore, ...]:
    try:
        text = Path(folder, ".gitignore").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    return _ignore(os.path.abspath(folder), text.splitlines())


def _ignore(folder: str, lines: Iterable[str]) -> tuple[_Ignore, ...]:
    given = [line for line in lines if line.strip() and not line.startswith("#")]
    if not given:
        return ()
    import pathspec

    try:
        spec = pathspec.GitIgnoreSpec.from_lines(given)
    except ValueError:
        spec = pathspec.GitIgnoreSpec.from_lines(line for line in given if _readable(line))
    return (_Ignore(folder, spec),)


def _readable(line: str) -> bool:
    """Git skips a pattern that it can't read, and so do we."""
    import pathspec

    try:
        pathspec.GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _gitignores_above(folder: str) -> tuple[_Ignore, ...]:
    """The .gitignore files from the repository's root down to the folder above `folder`; none outside a repository."""
    found: list[tuple[_Ignore, ...]] = []
    here = Path(os.path.abspath(folder))
    if (here / ".git").exists():
        return ()
    for parent in here.parents:
        found.append(_gitignore(str(parent)))
        if (parent / ".git").exists():
            return tuple(ignore for ignores in reversed(found) for ignore in ignores)
    return ()


def _self_ignored(folder: str, ignores: tuple[_Ignore, ...]) -> tuple[_Ignore, ...]:
    """A folder named on the command line is walked even when a .gitignore above it ignores it as a whole."""
    absolute = os.path.abspath(folder)
    kept = [x for x in ignores if not any(x.verdict(p, True) for p in _between(absolute, x.folder))]
    return tuple(kept)


def _between(path: str, top: str) -> Iterator[str]:
    while path != top and path != os.path.dirname(path):
        yield path
        path = os.path.dirname(path)


@lru_cache(maxsize=65536)
def _real_folder(folder: str) -> str:
    return os.path.realpath(folder)


def _once(paths: Iterable[str]) -> list[str]:
    """One path for each file, sorted: the file itself rather than a link to it, else the first."""
    found: dict[str, str] = {}
    for path in sorted(paths):
        folder, name = os.path.split(path)
        real = os.path.realpath(path) if os.path.islink(path) else os.path.join(_real_folder(folder), name)
        if real not in found or os.path.abspath(path) == real:
            found[real] = path
    return sorted(found.values())


def discover(paths: Sequence[str], config: Config) -> list[str]:
    """The files to check, sorted, each once, spelled as the path that led to them.

    Files given by name are always in. Raises MissingPath."""
    root = os.path.abspath(config.root or ".")
    names = frozenset(EXCLUDED if config.exclude is None else ())
    listed = (config.exclude or ()) + config.extend_exclude
    walk = _Walk(_ignore(root, listed), names)
    found: list[str] = []
    for path in dict.fromkeys(paths):
        if os.path.isdir(path):
            above = _self_ignored(path, _gitignores_above(path))
            found += walk.files(os.path.normpath(path), above)
        elif os.path.exists(path):
            found.append(os.path.normpath(path))
        else:
            raise MissingPath(f"`{path}` does not exist")
    _real_folder.cache_clear()
    return _once(found)
