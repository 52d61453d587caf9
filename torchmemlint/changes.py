"""Which lines changed since a revision, as git tells; for `check --diff-base`."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH118

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from torchmemlint.findings import Diagnostic, Location

_HUNK = re.compile(rb"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.M)
RowOf = Callable[[str, Location], int]
"""(file name, place) -> row of the file."""


class DiffError(Exception):
    """git can't tell what changed; the message says why."""


class Changes:
    """The lines that differ between the working tree and the point where `revision` and HEAD parted."""

    def __init__(self, revision: str, folder: str = ".") -> None:
        self.revision, self.folder = revision, folder
        self._files: dict[str, Sequence[range] | None] = {}

    @cached_property
    def root(self) -> str:
        """The repository's top folder. Raises DiffError."""
        return os.fsdecode(_git(self.folder, "rev-parse", "--show-toplevel").rstrip(b"\n"))

    @cached_property
    def base(self) -> str:
        """The commit to compare with. Raises DiffError."""
        _ = self.root  # no repository at all is said first
        if self.revision.startswith("-"):
            raise DiffError(f"`{self.revision}` is no revision")
        _git(self.folder, "rev-parse", "--verify", "--quiet", f"{self.revision}^{{commit}}", what=self.revision)
        try:
            return _git(self.folder, "merge-base", self.revision, "HEAD").decode().strip()
        except DiffError:  # no common history: the revision itself
            return self.revision

    def touch(self, path: str, first: int, last: int) -> bool:
        """Is one of the file's rows, first to last, new or changed? A file that git doesn't know is new."""
        if path not in self._files:
            self._files[path] = self._rows(os.path.realpath(path))
        rows = self._files[path]
        return rows is None or any(r.start <= last and first < r.stop for r in rows)

    def _rows(self, path: str) -> Sequence[range] | None:
        root = os.path.realpath(self.root)
        if not path.startswith(os.path.join(root, "")):
            return None
        name = os.path.relpath(path, root)
        if not _git(root, "ls-files", "--", f":(literal){name}"):
            return None
        options = ("--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
        text = _git(root, "diff", *options, self.base, "--", f":(literal){name}")
        hunks = [(int(m[1]), int(m[2] or b"1")) for m in _HUNK.finditer(text)]
        return [range(start, start + count) for start, count in hunks]


def _git(folder: str, *arguments: str, what: str = "") -> bytes:
    command = ["git", "-C", folder, *arguments]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as error:
        raise DiffError(f"--diff-base needs git: {error.strerror}") from None
    if done.returncode == 0:
        return done.stdout
    if what:
        raise DiffError(f"--diff-base: git knows no revision `{what}` here; in CI it may have to be fetched first")
    reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
    raise DiffError(f"--diff-base: {reason[-1].removeprefix('fatal: ') if reason else 'git failed'}")


def on_changed_lines(found: Iterable[Diagnostic], changes: Changes, row_of: RowOf) -> list[Diagnostic]:
    """The findings whose own lines changed. What the tool can't read or check is always shown."""
    _ = changes.base  # a revision that git doesn't know is an error, whatever was found
    return [d for d in found if d.code in ("TML000", "TML999") or _touched(d, changes, row_of)]


def _touched(d: Diagnostic, changes: Changes, row_of: RowOf) -> bool:
    first, last = row_of(d.filename, d.location), row_of(d.filename, d.end_location)
    return changes.touch(d.filename, first, max(first, last))
