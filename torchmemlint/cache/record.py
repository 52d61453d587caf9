"""One run's record: what was looked at, in which state, and what was found."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH100, PTH109, PTH113, PTH116, PTH120

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from torchmemlint import layout
from torchmemlint.cache import place, plain, state
from torchmemlint.config import Config
from torchmemlint.discover import discover
from torchmemlint.findings import Diagnostic
from torchmemlint.selection import strength

if TYPE_CHECKING:
    from torchmemlint.cache.shelf import Shelf

FORMAT = 1
CRASH = "TML999"


@dataclass(frozen=True)
class Known:
    """What a record tells: the files of the run and its findings, sorted."""

    files: list[str]
    found: list[Diagnostic]


@dataclass
class Trail:
    """What a run looks at, noted before it is read; at the end the record is made of it."""

    config: Config
    paths: Sequence[str]
    program: str = field(default_factory=state.program)
    started: int = field(default_factory=state.clock)
    before: dict[str, tuple[state.Status, str]] = field(default_factory=dict)  # the hash only where time can't tell
    by_file: bool = True  # are findings kept file by file too?
    shelf: Shelf | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        from torchmemlint.cache.shelf import Shelf  # a run out of the cache does without

        if self.by_file:
            self.shelf = Shelf.open(place.cache_folder(self.config), _key(self.config, self.paths), self.program)

    def note(self, paths: Iterable[str]) -> None:
        """These files are going to be read."""
        for path in paths:
            if path not in self.before:
                found = state.status(path)
                self.before[path] = found, "" if state.settled(found, self.started) else state.digest(path)

    def remember(self, checked: Sequence[str], found: Sequence[Diagnostic]) -> None:
        """Write the record, unless something changed during the run, or it was no whole run."""
        if not _whole(self.config, found):
            return
        looked, files, roots = self._looked(), self._files(), self._roots()
        if looked is None or files is None or roots is None or state.program() != self.program:
            return
        record = {
            "program": self.program,
            "checked": list(checked),
            "named": _named(self.paths),
            "files": files,
            "looked": looked,
            "roots": roots,
            "found": [plain.dumped(diagnostic) for diagnostic in found],
        }
        if self.shelf is not None:
            self.shelf.write(files)
        place.write(place.cache_folder(self.config), _key(self.config, self.paths), record)

    def _files(self) -> dict[str, list[Any]] | None:
        """Each file's state; None where one is not as it was before."""
        now, result = state.clock(), {}
        for path, (before, sure) in self.before.items():
            entry = _entry(path, now)
            if entry[:-2] != before or (sure and entry[-2] != sure):
                return None
            result[path] = entry
        return result

    def _looked(self) -> dict[str, list[Any]] | None:
        """The folders in which imports were looked for; None where one changed meanwhile."""
        now, result = state.clock(), {}
        for folder in sorted(layout.looked):
            changed = _changed(folder)
            if changed >= self.started - state.TICK:
                return None
            result[folder] = [changed, state.listing(folder), changed < now - state.SETTLED]
        return result

    def _roots(self) -> dict[str, list[str]] | None:
        used = _roots({os.path.dirname(os.path.abspath(path)) for path in self.before})
        layout.forget()
        return used if used == _roots(used) else None


def _whole(config: Config, found: Sequence[Diagnostic]) -> bool:
    """Was everything checked to its end, as far as the settings let us see? Another run may come further."""
    hiding = (*config.ignore, *(code for _, codes in config.per_file_ignores for code in codes))
    return not strength(CRASH, hiding) and all(diagnostic.code != CRASH for diagnostic in found)


def _key(config: Config, paths: Sequence[str]) -> str:
    """A name for runs of this kind: the same paths in the same folder with the same settings."""
    settings = sorted((name, value) for name, value in asdict(config).items() if name != "cache_dir")
    kind = [FORMAT, sys.version_info[:3], os.getcwd(), list(paths), settings]
    return hashlib.sha256(repr(kind).encode("utf-8", "surrogateescape")).hexdigest()[:40]


def _named(paths: Sequence[str]) -> list[str]:
    return sorted(os.path.normpath(path) for path in paths if os.path.isfile(path))


def _roots(folders: Iterable[str]) -> dict[str, list[str]]:
    return {folder: [layout.package_root(folder), layout.project_root(folder)] for folder in folders}


def _entry(path: str, now: int) -> list[Any]:
    """A file's status and hash, and whether the status alone will tell that it didn't change."""
    found = state.status(path)
    return [*found, state.digest(path), state.settled(found, now)]


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except (OSError, ValueError):
        return 0


def lookup(config: Config, paths: Sequence[str]) -> Known | None:
    """What a run of this kind found, if it would find the same now; else None. Raises MissingPath."""
    folder, name = place.cache_folder(config), _key(config, paths)
    record = place.read(folder, name)
    if record is None or record.get("program") != state.program():
        return None
    layout.forget()
    files = discover(paths, config)
    if files != record.get("checked") or _named(paths) != record.get("named"):
        return None
    try:
        fresh = _holds(record)
        known = Known(files, [plain.loaded(entry) for entry in record["found"]])
    except (ValueError, TypeError, KeyError, AttributeError, IndexError):
        return None
    if fresh is None or not {diagnostic.filename for diagnostic in known.found} <= set(files):
        return None
    if fresh:
        place.write(folder, name, record | {"files": record["files"] | fresh})
    return known


def _holds(record: dict[str, Any]) -> dict[str, list[Any]] | None:
    """Is everything as the record says? The entries of files that had to be read to tell; None where it isn't."""
    roots = record["roots"]
    if _roots(roots) != roots or not all(_same_folder(path, entry) for path, entry in record["looked"].items()):
        return None
    fresh, now = {}, state.clock()
    for path, entry in record["files"].items():
        if entry[-1] and state.status(path) == entry[:-2]:
            continue
        again = _entry(path, now)
        if again[-2] != entry[-2] or len(again) != len(entry) or state.status(path) != again[:-2]:
            return None
        fresh[path] = again
    return fresh


def _same_folder(folder: str, entry: list[Any]) -> bool:
    changed, names, settled = entry
    if settled is True and _changed(folder) == changed:
        return True
    return bool(state.listing(folder) == names)
