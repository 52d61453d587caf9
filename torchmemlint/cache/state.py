"""The state of files, folders and of this program itself, in a form that can be compared with a later one."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH100, PTH116, PTH123

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

SETTLED = 2_000_000_000  # ns: a time stamp older than this will not be given to a later change
TICK = 20_000_000  # ns: file systems stamp with clocks that lag by some milliseconds

Status = list[int]
"""Size, times of the last change of content and of status, inode; empty: not there."""


def status(path: str) -> Status:
    """What the file system tells of a path without opening it."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return []
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def settled(found: Status, now: int) -> bool:
    """Can the status alone tell that nothing changed? Not if the last change is so fresh that another one may get
    the same time stamp."""
    return not found or max(found[1], found[2]) < now - SETTLED


def digest(path: str) -> str:
    """The hash of a file's content, empty where it can't be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except (OSError, ValueError):
        return ""


def listing(folder: str) -> str:
    """A hash of the names in a folder that can be modules or packages."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(_kind(entry) + entry.name for entry in entries if _matters(entry))
    except (OSError, ValueError):
        return ""
    return hashlib.sha256("\0".join(names).encode("utf-8", "surrogateescape")).hexdigest()


def _matters(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(".py") or ("." not in entry.name and entry.name != "__pycache__")


def _kind(entry: os.DirEntry[str]) -> str:
    try:
        return "d" if entry.is_dir() else "f" if entry.is_file() else "-"
    except OSError:
        return "-"


def program() -> str:
    """A hash of what this program is made of: its sources, Python, and all installed distributions, which decide about
    libraries and about rules of others."""
    parts: list[Any] = [sys.version, sys.implementation.name, list(_sources()), list(_distributions())]
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _sources() -> Iterator[tuple[str, Status]]:
    from importlib.util import find_spec

    for package in ("torchmemlint", "torchmemlint.rules"):
        spec = find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            yield from _below(folder)


def _below(folder: str) -> Iterator[tuple[str, Status]]:
    todo = [folder]
    while todo:
        with os.scandir(todo.pop()) as entries:
            for entry in sorted(entries, key=lambda e: e.name):
                if entry.is_dir() and entry.name not in ("__pycache__", "records"):
                    todo.append(entry.path)
                elif entry.name.endswith((".py", ".toml", ".json")):
                    yield entry.path, status(entry.path)


def _distributions() -> Iterator[tuple[str, int]]:
    for folder in dict.fromkeys(os.path.abspath(entry) for entry in sys.path):
        try:
            with os.scandir(folder) as entries:
                found = [e for e in entries if e.name.endswith((".dist-info", ".egg-info", ".egg-link"))]
                yield from sorted((e.path, max(e.stat().st_mtime_ns, _changed(e.path))) for e in found)
        except OSError:
            continue


def _changed(distribution: str) -> int:
    """When its entry points, which name rules, were written; 0 where it has none."""
    try:
        return os.stat(f"{distribution}{os.sep}entry_points.txt").st_mtime_ns
    except OSError:
        return 0


def clock() -> int:
    """The time in the unit of time stamps, ns."""
    return time.time_ns()
