"""One file at a time: reading, indexing and checking, each of which turns every failure into a diagnostic."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH123

from __future__ import annotations

import contextlib
import re
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING

from torchmemlint import source as sources
from torchmemlint import suppress
from torchmemlint.config import Config
from torchmemlint.findings import Diagnostic, Location, Severity
from torchmemlint.index.model import FileIndex
from torchmemlint.selection import SPECIAL, Selection
from torchmemlint.source import Source, SourceError

if TYPE_CHECKING:
    from torchmemlint.flow.program import Program
    from torchmemlint.index.project import ProjectIndex

SECONDS_PER_FILE = 60.0
_PYTHON2 = re.compile(
    r"^\s*print\s+[^(=\s]|^\s*exec\s+[\"'\w]|except\s+[\w.]+\s*,\s*\w+\s*:|raise\s+\w+\s*,|`|<>|\b0\d+\b"
)
_INTERESTING = (b"torch", b"TML")


def special(path: str, code: str, message: str, row: int = 1, column: int = 1) -> Diagnostic:
    """A finding of the tool itself, of severity error."""
    place = Location(max(row, 1), max(column, 1))
    return Diagnostic(
        path, place, place.row, place.column, code, message, place, SPECIAL[code], Severity.ERROR, noqa_row=place.row
    )


@dataclass(frozen=True)
class Item:
    """A file to index. `named`: it was asked for by name, so it is parsed whether it mentions torch or not."""

    path: str
    module: str
    is_package: bool
    named: bool = False


def read(path: str) -> Source:
    """The file's text. Raises SourceError."""
    if path.endswith(".ipynb"):
        raise SourceError("notebooks are not supported: convert it with `jupyter nbconvert --to script`")
    return sources.read(path)


def index(item: Item, text: Source | None = None) -> FileIndex | Diagnostic | None:
    """The file's index; TML000 where it can't be read or parsed; None where it does not concern torch."""
    from torchmemlint.index.build import index_source

    try:
        if text is None and not item.named and not _concerned(item.path):
            return None
        text = text or read(item.path)
        return index_source(text, item.module, item.is_package)
    except SourceError as error:
        return special(item.path, "TML000", error.message, error.row, error.column)
    except SyntaxError as error:
        return _syntax_error(item.path, text, error)
    except (RecursionError, MemoryError):
        return special(item.path, "TML000", "nested too deeply to be parsed")
    except Exception as error:  # one file's crash must not stop the run
        return special(item.path, "TML999", f"indexing failed: {_named(error)}")


def _concerned(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}") from None
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")  # UTF-16: not Python, and no word is found in its bytes
    return wide or any(word in data for word in _INTERESTING)


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")[:300]


def _syntax_error(path: str, text: Source | None, error: SyntaxError) -> Diagnostic:
    row, column = error.lineno or 1, error.offset or 1
    line = text.line(row) if text else ""
    message = f"cannot be parsed: {error.msg}"
    if _PYTHON2.search(line) or "Missing parentheses in call to" in (error.msg or ""):
        message = f"looks like Python 2: only Python 3 can be checked ({error.msg})"
    return special(path, "TML000", message, row, column)


class TimeUp(BaseException):
    """A file took too long; no Exception, so that no handler for a rule's errors swallows it."""


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeUp after `seconds`, where the platform can: in the main thread, with no other timer at work."""
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not usable or signal.getitimer(signal.ITIMER_REAL)[0] or seconds <= 0:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Checker:
    """Checks files of one project; lives in one process. `texts` are files whose text differs from the disk's."""

    project: ProjectIndex
    config: Config
    texts: Mapping[str, Source] = field(default_factory=dict)
    seconds: float = SECONDS_PER_FILE
    _program: Program | None = None
    _known: frozenset[str] = frozenset()
    _active: frozenset[str] = frozenset()

    def check(self, path: str) -> list[Diagnostic]:
        """The file's findings, suppression and selection applied, sorted. Never raises for what is in the file."""
        try:
            text = self.texts.get(path) or read(path)
            found = suppress.collect(text)
        except SourceError as error:
            return [special(path, "TML000", error.message, error.row, error.column)]
        if found.skips_file:
            return []
        raw = self._raw(path) if path in self.project.files else []
        kept = [d for d in raw if not found.silences(d)]
        if not any(d.code in suppress.UNSILENCEABLE for d in raw):  # after a crash nobody knows what is unused
            kept += suppress.unused(text, found, self._known, self._active)
        selection = Selection(self.config)
        return sorted(dict.fromkeys(d for d in kept if selection.shows(d)))

    def _raw(self, path: str) -> Sequence[Diagnostic]:
        try:
            with _time_limit(self.seconds):
                return (self._program or self._start()).diagnostics(path)
        except TimeUp:
            message = f"not checked: took longer than {self.seconds:g} seconds"
        except RecursionError:
            message = "not checked: nested too deeply"
        except Exception as error:
            message = f"not checked: {_named(error)}"
        self._program = None  # what it remembers may be half done
        return [special(path, "TML999", message)]

    def _start(self) -> Program:
        from torchmemlint.flow.program import Program
        from torchmemlint.loader import load_rules

        rules, selection = load_rules(), Selection(self.config)
        wanted = [rule for rule in rules if selection.runs(rule.code)]
        self._known = frozenset(rule.code for rule in rules) | SPECIAL.keys()
        self._active = frozenset(rule.code for rule in wanted) | SPECIAL.keys()
        self._program = Program(self.project, [rule() for rule in wanted], self.config, self.texts)
        return self._program
