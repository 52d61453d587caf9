"""Where records lie, how they are read and written, and how the folder is kept small."""

# Paths are strings here, spelled as the system gives them.
# ruff: noqa: PTH100, PTH102, PTH103, PTH105, PTH106, PTH108, PTH110, PTH111, PTH112, PTH117, PTH118, PTH120, PTH123
# ruff: noqa: PTH208

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from typing import Any

from torchmemlint.config import Config

VARIABLE = "TORCHMEMLINT_CACHE_DIR"
TAG = "CACHEDIR.TAG"
SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55"
NOTE = f"{SIGNATURE}\n# This folder is a cache of torchmemlint; it can be removed at any time.\n"
LIMIT = 256 * 1024 * 1024  # bytes of records; the oldest go first
SUFFIX = ".record"  # a whole run
PARTS = ".parts"  # a run file by file
OURS = (SUFFIX, PARTS, ".tmp")


def cache_folder(config: Config) -> str:
    """The cache's folder: $TORCHMEMLINT_CACHE_DIR, else `cache-dir` beside the settings, else the user's cache."""
    named = os.environ.get(VARIABLE)
    if named:
        return named
    if config.cache_dir:
        return os.path.join(config.root or ".", config.cache_dir)
    return os.path.join(_user_caches(), "torchmemlint")


def _user_caches() -> str:
    """The folder where the platform wants programs to keep what can be made anew."""
    if sys.platform == "win32":
        return os.environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches")
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    return chosen if os.path.isabs(chosen) else os.path.expanduser("~/.cache")


def read(folder: str, name: str, suffix: str = SUFFIX) -> dict[str, Any] | None:
    """A record, None where there is none that can be read."""
    try:
        with open(os.path.join(folder, name + suffix), "rb") as file:
            checksum, _, text = file.read().partition(b"\n")
        found = json.loads(text) if checksum == _checksum(text) else None
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


def write(folder: str, name: str, record: dict[str, Any], suffix: str = SUFFIX) -> None:
    """Write a record whole or not at all, then drop the oldest records over the limit. Never raises OSError."""
    with contextlib.suppress(OSError, ValueError):
        text = json.dumps(record, separators=(",", ":")).encode()
        if suffix == PARTS and len(text) > LIMIT // 4:
            return  # they would drive all others out
        _make(folder)
        _replace(os.path.join(folder, name + suffix), _checksum(text) + b"\n" + text)
        _evict(folder)


def _make(folder: str) -> None:
    """The folder, private to the user, and its tag, by which backups leave it out and `clean` knows it."""
    if not os.path.isdir(folder):
        os.makedirs(os.path.dirname(os.path.abspath(folder)), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
    for name, text in ((TAG, NOTE), (".gitignore", "*\n")):
        if not os.path.exists(os.path.join(folder, name)):
            _replace(os.path.join(folder, name), text.encode())


def _replace(path: str, data: bytes) -> None:
    """Put a file in its place at once: readers see the old one or the new one."""
    import tempfile  # most runs only read

    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), suffix=".tmp")
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _evict(folder: str) -> None:
    """Drop the oldest records, and what killed runs left half written, until three quarters of the limit are kept."""
    with os.scandir(folder) as entries:
        ours = [(e.stat(), e.path) for e in entries if e.name.endswith(OURS) and e.is_file()]
    total = sum(status.st_size for status, _ in ours)
    if total <= LIMIT:
        return
    for status, path in sorted(ours, key=lambda each: each[0].st_mtime_ns):
        if total <= LIMIT * 3 // 4:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= status.st_size


def clean_folder(folder: str) -> bool:
    """Remove the cache's own files, and the folder if nothing else is in it; was there a cache? Raises OSError."""
    if read_tag(folder) is None:
        return False
    for name in os.listdir(folder):
        if name.endswith(OURS) or name == ".gitignore":
            os.unlink(os.path.join(folder, name))
    os.unlink(os.path.join(folder, TAG))
    with contextlib.suppress(OSError):
        os.rmdir(folder)
    return True


def read_tag(folder: str) -> str | None:
    """The text of the folder's tag, None where it isn't tagged as a cache."""
    try:
        with open(os.path.join(folder, TAG), encoding="utf-8", errors="replace") as file:
            text = file.read(1000)
    except OSError:
        return None
    return text if text.startswith(SIGNATURE) else None
