"""Writing a mended file so that it is either the old one or the new one, whatever happens in between."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path


class FileChanged(Exception):
    """The file is no longer what was read: somebody else wrote it meanwhile."""


def write_atomically(path: str, raw: bytes, expected: bytes | None = None) -> None:
    """Replace the content of the file at `path` (its target, if a link) by `raw`, keeping its mode. Raises FileChanged
    if it no longer holds `expected`, OSError with a clear text where it cannot be written."""
    target = Path(path).resolve(strict=True)
    status = _writable(target, path)
    temporary = _temporary(target, path)
    try:
        _fill(temporary, raw, status)
        _refuse_changed(target, path, expected)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def _refuse_changed(target: Path, path: str, expected: bytes | None) -> None:
    if expected is not None and target.read_bytes() != expected:
        raise FileChanged(f"{path} was changed by another program; left as it is")


def _writable(target: Path, path: str) -> os.stat_result:
    """The file's status. The mode is asked too: the system lets a superuser write what its owner has locked."""
    status = target.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file; cannot be fixed", path)
    if not status.st_mode & 0o222 or not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is read-only; cannot be fixed", path)
    return status


def _temporary(target: Path, path: str) -> Path:
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".tmp", dir=target.parent)
    except PermissionError:
        raise PermissionError(errno.EACCES, "the folder is read-only; cannot be fixed", path) from None
    os.close(handle)
    return Path(name)


def _fill(temporary: Path, raw: bytes, like: os.stat_result) -> None:
    with temporary.open("wb") as stream:
        stream.write(raw)
        stream.flush()
        if hasattr(os, "fchown"):
            with contextlib.suppress(OSError):
                os.fchown(stream.fileno(), like.st_uid, like.st_gid)
        temporary.chmod(stat.S_IMODE(like.st_mode))
        os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
