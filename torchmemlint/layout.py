"""How files make modules: the dotted name of each file, and the file behind an imported name."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH100, PTH110, PTH112, PTH113, PTH117, PTH118, PTH119, PTH120, PTH206

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache

looked: set[str] = set()
"""The folders in which imported modules were looked for since the start of the run."""
_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg", "torchmemlint.toml")


@lru_cache(maxsize=65536)
def package_root(folder: str) -> str:
    """The folder that holds the topmost package around `folder`; `folder` itself when it is in none."""
    here = folder
    while os.path.isfile(os.path.join(here, "__init__.py")) and os.path.dirname(here) != here:
        here = os.path.dirname(here)
    return here


@lru_cache(maxsize=65536)
def project_root(folder: str) -> str:
    """The nearest folder at or above `folder` that looks like a project's top; else its package root."""
    here = package_root(folder)
    while not any(os.path.exists(os.path.join(here, mark)) for mark in _MARKS):
        above = os.path.dirname(here)
        if above == here:
            return package_root(folder)
        here = above
    return here


@lru_cache(maxsize=65536)
def _holds(folder: str, name: str) -> bool:
    looked.add(folder)
    return os.path.exists(os.path.join(folder, name + ".py")) or os.path.isdir(os.path.join(folder, name))


def _dotted(path: str, root: str) -> str:
    parts = os.path.relpath(path, root)[: -len(".py")].split(os.sep)
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(part for part in parts if part not in ("", ".."))


def names(paths: Sequence[str], taken: dict[str, str] | None = None) -> dict[str, tuple[str, bool]]:
    """(module name, is it an `__init__`) of each file, unique in the project.

    A file of a package is named from the package's root, another one from the project's root or its `src`; a name
    already taken by another file is spelled from the project's root, and numbered at last. `taken` (name -> path)
    is read and filled."""
    taken = {} if taken is None else taken
    result = {}
    for path in paths:
        full = os.path.abspath(path)
        for name in _spellings(full):
            if taken.setdefault(name, full) == full:
                break
        result[path] = (name, os.path.basename(full) == "__init__.py")
    return result


def _spellings(full: str) -> Iterator[str]:
    full = full if full.endswith(".py") else full + ".py"
    folder = os.path.dirname(full)
    package, project = package_root(folder), project_root(folder)
    source = os.path.join(project, "src")
    if package != folder:
        yield _dotted(full, package)
    elif full.startswith(source + os.sep):
        yield _dotted(full, source)
    plain = _dotted(full, project)
    yield plain
    number = 2
    while True:
        yield f"{plain}.{number}"
        number += 1


def imported(importer: str, target: str, roots: Sequence[str] = ()) -> Sequence[str]:
    """Absolute paths of the files that importing `target` (dotted, absolute) in the file `importer` runs, if any.

    `target` may name something in a module: `pkg.mod.Thing` leads to pkg/__init__.py and pkg/mod.py. It is looked for
    from the file's package and project, its own folder, and `roots`, the folders that are checked."""
    return _imported(_folder_of(importer), target, tuple(roots))


@lru_cache(maxsize=65536)
def _folder_of(file: str) -> str:
    return os.path.dirname(os.path.abspath(file))


@lru_cache(maxsize=16384)
def _imported(folder: str, target: str, roots: tuple[str, ...]) -> tuple[str, ...]:
    parts = target.split(".")
    for base in (*_bases(folder), *roots):
        found = tuple(_below(base, parts)) if _holds(base, parts[0]) else ()
        if found:
            return found
    return ()


@lru_cache(maxsize=65536)
def _bases(folder: str) -> tuple[str, ...]:
    package, project = package_root(folder), project_root(folder)
    between, here = [], package
    while len(here) > len(project):
        between.append(here)
        here = os.path.dirname(here)
    return tuple(dict.fromkeys([package, *between, project, os.path.join(project, "src"), folder]))


@lru_cache(maxsize=65536)
def _module_file(stem: str) -> str | None:
    looked.update((os.path.dirname(stem), stem) if os.path.isdir(stem) else (os.path.dirname(stem),))
    for file in (os.path.join(stem, "__init__.py"), stem + ".py"):
        if os.path.isfile(file):
            return file
    return None


def _below(base: str, parts: Sequence[str]) -> Iterator[str]:
    stem = base
    for part in parts:
        stem = os.path.join(stem, part)
        file = _module_file(stem)
        if file is not None:
            yield file
        elif not os.path.isdir(stem):
            return


def forget() -> None:
    """Forget what the file system looked like; called at the start of each run."""
    looked.clear()
    for cached in (package_root, project_root, _holds, _folder_of, _imported, _bases, _module_file):
        cached.cache_clear()


def spelled_like(example: str, path: str) -> str:
    """An absolute path spelled as `example` is: files of one project must compare as text."""
    if os.path.isabs(example):
        return path
    try:
        return os.path.relpath(path)
    except ValueError:  # another drive
        return path
