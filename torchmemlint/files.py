"""One file at a time: reading, indexing and checking, each of which turns every failure into a diagnostic."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH123

from __future__ import annotations

import contextlib
import re
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from torchmemlint import source as sources
from torchmemlint import suppress
from torchmemlint.config import Config
from torchmemlint.findings import Diagnostic, Location, Severity
from torchmemlint.selection import SPECIAL, Selection
from torchmemlint.source import Source, SourceError

if TYPE_CHECKING:
    from torchmemlint.cache.grounds import Grounds
    from torchmemlint.flow.units import Slices
    from torchmemlint.index.build import Take
    from torchmemlint.index.model import FileIndex
    from torchmemlint.index.project import ProjectIndex
    from torchmemlint.index.stamps import Stamps
    from torchmemlint.registry import Rule

SECONDS_PER_FILE = 60.0
LINES_PER_LIMIT = 200_000  # a file pays for the answers about the project that it is the first to ask for
_PYTHON2 = re.compile(
    r"^\s*print\s+[^(=\s]|^\s*exec\s+[\"'\w]|except\s+[\w.]+\s*,\s*\w+\s*:|raise\s+\w+\s*,|`|<>|\b0\d+\b"
)
_IMPORT = re.compile(rb"[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+([^#\r\n;]*)|import[ \t]+([^#\r\n;]*))")
_IMPORTS = re.compile(rb"import[ \t]")
_INTERESTING = re.compile(rb"torch|\bTML")


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
    return sources.read(path)


class Texts(Protocol):
    """Files whose text is another one than on disk."""

    @property
    def texts(self) -> Mapping[str, Source]:
        """By path."""


def source_of(session: Texts, path: str, checksum: int | None = None) -> Source:
    """The text of a file as the session sees it. Raises SourceError, also where the checksum differs."""
    return session.texts.get(path) or sources.read(path, checksum)


class Indexed(NamedTuple):
    """An index, or the reason why there is none, with the dotted names that the file imports anywhere. Neither: the
    file does not name torch."""

    file: FileIndex | None = None
    imports: tuple[str, ...] = ()
    failure: Diagnostic | None = None
    stamps: Stamps | None = None  # for the cache


def index(item: Item, text: Source | None = None, *, stamped: bool = False, take: Take | None = None) -> Indexed:
    """Read and index a file; `take`: see `index_source`. TML000 where it can't be read or parsed; never raises for what
    is in the file."""
    from torchmemlint.index.build import index_source
    from torchmemlint.index.stamps import stamps

    try:
        if text is None and not item.named:
            text, data = _read_concerned(item.path)
            if text is None:
                return Indexed(imports=imported_names(data, item.module, item.is_package))
        text = text or read(item.path)
        file = index_source(text, item.module, item.is_package, take)
        known = stamps(text, file) if stamped else None
        return Indexed(file, imported_names(text.data, item.module, item.is_package), stamps=known)
    except SourceError as error:
        failure = special(item.path, "TML000", error.message, error.row, error.column)
    except SyntaxError as error:
        failure = _syntax_error(item.path, text, error)
    except (RecursionError, MemoryError):
        failure = special(item.path, "TML000", "nested too deeply to be parsed")
    except Exception as error:  # one file's crash must not stop the run
        failure = special(item.path, "TML999", f"indexing failed: {_named(error)}")
    return Indexed(failure=failure)


def _read_concerned(path: str) -> tuple[Source | None, bytes]:
    """The file's text, None where neither torch nor one of our suppressions is in it, and its bytes. Raises
    SourceError."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}") from None
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")  # UTF-16: not Python, and no word is found in its bytes
    return (sources.decode(data, path) if wide or _INTERESTING.search(data) else None), data


def imported_names(data: bytes, module: str, is_package: bool) -> tuple[str, ...]:
    """Absolute dotted names of all import statements, those in functions too, as far as their first line tells."""
    names: dict[str, None] = {}
    for match in _import_statements(data):
        base, listed = (match[1] or b"").decode(), (match[2] or match[3]).decode(errors="ignore")
        words = [part.split()[0] for part in listed.strip("() \t").split(",") if part.split()]
        if base.startswith("."):
            level = len(base) - len(base.lstrip("."))
            package = module.split(".")[: None if is_package else -1]
            above = package[: len(package) - level + 1]
            base = ".".join([*above, base[level:]] if base[level:] else above)
        names.update(dict.fromkeys([base] * bool(base) + [f"{base}.{word}" if base else word for word in words]))
    return tuple(names)


def _import_statements(data: bytes) -> Iterator[re.Match[bytes]]:
    """The lines that start as an import statement. (The word is looked for: to try each line takes four times as
    long.)"""
    end = 0
    for word in _IMPORTS.finditer(data):
        start = data.rfind(b"\n", 0, word.start()) + 1
        match = _IMPORT.match(data, start) if start >= end else None
        if match is not None:
            end = match.end()
            yield match


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")[:300]


def _syntax_error(path: str, text: Source | None, error: SyntaxError) -> Diagnostic:
    row, column = error.lineno or 1, error.offset or 1
    line = text.line(row) if text else ""
    message = f"cannot be parsed: {error.msg}"
    if _PYTHON2.search(line) or "Missing parentheses in call to" in (error.msg or ""):
        message = f"looks like Python 2: only Python 3 can be checked ({error.msg})"
    found = special(path, "TML000", message, row, column)
    return placed(found, text) if text else found


def placed(d: Diagnostic, text: Source) -> Diagnostic:
    """The finding with the places to show: those in the cells if `text` is a notebook's."""
    if text.placed(d.location) == d.location and not d.related and not d.fix:
        return d
    related = tuple(
        replace(r, location=text.placed(r.location), end_location=text.placed(r.end_location))
        if r.filename == text.path else r
        for r in d.related
    )  # fmt: skip
    fix = d.fix and replace(d.fix, edits=tuple(
        replace(e, location=text.placed(e.location), end_location=text.placed(e.end_location)) for e in d.fix.edits
    ))  # fmt: skip
    start, end = text.placed(d.location), text.placed(d.end_location)
    return replace(d, location=start, end_location=end, related=related, fix=fix)


class TimeUp(BaseException):
    """A file took too long; no Exception, so that no handler for a rule's errors swallows it."""


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeUp after `seconds`: of processor time in the main thread if nobody else uses that clock, so that a busy
    machine fails no file; elsewhere by the wall clock. Code in C is not interrupted by the latter."""
    if seconds <= 0:
        yield
        return
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not usable or signal.getitimer(signal.ITIMER_PROF)[0]:
        with _thread_limit(seconds):
            yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeUp

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def _thread_limit(seconds: float) -> Iterator[None]:
    thread, lock, inside, pending = threading.get_ident(), threading.Lock(), True, False

    def stop() -> None:
        nonlocal pending
        with lock:
            if inside:
                pending = True
                _raise_in(thread, TimeUp)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    except TimeUp:
        pending = False
        raise
    finally:
        with lock:
            inside = False
            if pending:  # one that was too late; to take back what is not there leaves CPython 3.11 looking for it
                _raise_in(thread, None)
        timer.cancel()


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Make another thread raise `error` soon; None: take it back."""
    import ctypes

    if api := getattr(ctypes, "pythonapi", None):  # CPython only
        api.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error and ctypes.py_object(error))


class Analysis(Protocol):
    """What finds things: the rules over one project. Lives in one process."""

    def diagnostics(self, path: str) -> list[Diagnostic]:
        """All findings in a file, before suppression and selection."""

    def grounds(self) -> Grounds | None:
        """What the findings since the last time rest on; None where it isn't noted."""

    def text(self, path: str) -> Source:
        """The text of a file, read once. Raises SourceError."""


def analysis(
    project: ProjectIndex, rules: Sequence[Rule], config: Config, texts: Mapping[str, Source], slices: Slices | None,
    stamps: Mapping[str, Stamps] | None = None,
) -> Analysis:  # fmt: skip
    """The analysis of a project; `texts` go before the files on disk, `slices` are parsed already. With the `stamps` of
    its files it notes what findings rest on."""
    from torchmemlint.checker import Checker
    from torchmemlint.flow.program import Program

    program = Program(project, frozenset(config.no_grad_functions), slices, noted=stamps is not None)
    for text in texts.values():
        program.provide(text)
    selection = Selection(config)
    quiet = [rule.code for rule in rules if not selection.hints(rule.code)]
    return Checker(program, rules, quiet, stamps)


@dataclass
class FileChecker:
    """Checks files of one project; lives in one process. `texts` are files whose text differs from the disk's."""

    project: ProjectIndex
    config: Config
    texts: Mapping[str, Source] = field(default_factory=dict)
    seconds: float = SECONDS_PER_FILE
    noqa: bool = True  # do the comments of that name count?
    slices: Slices | None = None  # what was parsed for earlier texts
    stamps: Mapping[str, Stamps] | None = None  # of the project's files, if what findings rest on is to be noted
    _analysis: Analysis | None = None
    _known: frozenset[str] = frozenset()
    _active: frozenset[str] = frozenset()

    def check(self, path: str) -> list[Diagnostic]:
        """The file's findings, suppression and selection applied, sorted. Never raises for what is in the file."""
        try:
            text = self._analysis.text(path) if self._analysis is not None else self._text(path)
            found = suppress.collect(text, self.noqa)
        except SourceError as error:
            return [special(path, "TML000", error.message, error.row, error.column)]
        if found.skips_file:
            return []
        raw = self._raw(path) if path in self.project.files else []
        kept = [d for d in raw if not found.silences(d)]
        if not any(d.code in suppress.UNSILENCEABLE for d in raw):  # after a crash nobody knows what is unused
            kept += suppress.unused(text, found, self._known, self._active)
        selection = Selection(self.config)
        return sorted(dict.fromkeys(placed(d, text) for d in kept if selection.shows(d)))

    def _text(self, path: str) -> Source:
        index = self.project.files.get(path)
        return source_of(self, path, index.checksum if index is not None else None)

    @cached_property
    def limit(self) -> float:
        """The seconds that a file may take, more in a very large project."""
        lines = sum(file.lines for file in self.project.files.values())
        return self.seconds * max(1, lines // LINES_PER_LIMIT)

    def _raw(self, path: str) -> Sequence[Diagnostic]:
        try:
            with _time_limit(self.limit):
                return (self._analysis or self._start()).diagnostics(path)
        except TimeUp:
            message = f"not checked: took longer than {self.limit:g} seconds"
        except RecursionError:
            message = "not checked: nested too deeply"
        except Exception as error:
            message = f"not checked: {_named(error)}"
        self._analysis = None  # what it remembers may be half done
        return [special(path, "TML999", message)]

    def _start(self) -> Analysis:
        from torchmemlint.loader import load_rules

        rules, selection = load_rules(), Selection(self.config)
        wanted = [rule for rule in rules if selection.wants(rule)]
        self._known = frozenset(rule.code for rule in rules) | SPECIAL.keys()
        self._active = frozenset(rule.code for rule in wanted) | SPECIAL.keys()
        found = [rule() for rule in wanted]
        self._analysis = analysis(self.project, found, self.config, self.texts, self.slices, self.stamps)
        return self._analysis

    def grounds(self) -> Grounds | None:
        """What the findings since the last time rest on; None where it isn't noted, or was lost in a crash."""
        return self._analysis.grounds() if self._analysis is not None else None
