"""A run: find the files, index them, link the project, check file by file; in this process or on any executor."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH100, PTH112, PTH113, PTH118, PTH123, PTH202

from __future__ import annotations

import ast
import contextlib
import gc
import os
import pickle
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from torchmemlint import layout
from torchmemlint.borrowed import Borrowed, frozen
from torchmemlint.config import Config
from torchmemlint.discover import discover
from torchmemlint.files import FileChecker, Indexed, Item, index, special
from torchmemlint.findings import Diagnostic
from torchmemlint.index.model import FileIndex, FunctionInfo
from torchmemlint.pools import chunks_of, new_pool, one_by_one, submitted
from torchmemlint.selection import Selection
from torchmemlint.source import Source

if TYPE_CHECKING:
    from torchmemlint.cache import Trail
    from torchmemlint.cache.grounds import Grounds
    from torchmemlint.cache.shelf import Shelf
    from torchmemlint.flow.units import Slices
    from torchmemlint.index.build import Take

POOL_FILES, POOL_BYTES = 40, 700_000  # a pool pays from here on: about 20 000 lines
OUTSIDE_LIMIT = 500  # files that are read only because a checked file imports them
Progress = Callable[[str, int, int], None]
"""(what is done, files done, files in all)"""
Checked = tuple[list[Diagnostic], "Grounds | None"]
"""The findings of a file, and what they rest on that was not told before."""
T = TypeVar("T")
R = TypeVar("R")


def _index_all(items: Sequence[Item], stamped: bool = False, take: Take | None = None) -> list[Indexed]:
    with calm_gc():
        return [index(item, stamped=stamped, take=take) for item in items]


_checkers: dict[str, FileChecker] = {}


def _check_all(token: str, shared: bytes | str, paths: Sequence[str]) -> list[Checked]:
    """In a worker: check some files of the project in `shared` (pickled, or a file's name), loaded once a process."""
    checker = _checkers.get(token)
    if checker is None:
        again = bool(_checkers)
        _checkers.clear()
        if again and isinstance(shared, str):  # an earlier round of fixes: what it has left is collected now
            gc.unfreeze()
            gc.collect()
        checker = _checkers[token] = _load(shared)
        if isinstance(shared, str):  # a process of our own: what it has loaded stays, and need not be scanned
            gc.freeze()
    with calm_gc():
        return [(checker.check(path), checker.grounds()) for path in paths]


def _load(shared: bytes | str) -> FileChecker:
    if isinstance(shared, str):
        with open(shared, "rb") as file:
            shared = file.read()
    checker = pickle.loads(shared)
    assert isinstance(checker, FileChecker)
    return checker


CALM = 100_000, 5, 1  # thresholds of the collector where the process has other things to do, too
_collector = Borrowed(gc.get_threshold, lambda thresholds: gc.set_threshold(*thresholds), lambda _: CALM)


def calm_gc() -> AbstractContextManager[None]:
    """Few collections by the number of objects, as trees make many and few of them lie in cycles. Interpretations do,
    and are collected by their weight; a process that only checks, as its workers, makes no other collections."""
    return _collector.taken()


@dataclass
class Session:
    """The files of a run and what is known of them. `texts` replace or add to the files on disk."""

    config: Config
    jobs: int = 1
    executor: Executor | None = None
    progress: Progress | None = None
    files: list[str] = field(default_factory=list)  # those that are reported
    texts: dict[str, Source] = field(default_factory=dict)
    indexes: dict[str, FileIndex] = field(default_factory=dict)
    failures: dict[str, Diagnostic] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    roots: tuple[str, ...] = ()  # the folders that were given
    trail: Trail | None = None  # notes what is read, for the cache
    settled: list[Diagnostic] | None = None  # what is found in all files, where the cache knew it
    _own: ProcessPoolExecutor | None = None
    _slices: Slices | None = None  # what this process has parsed
    _taken: dict[str, str] = field(default_factory=dict)
    _imports: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by file: dotted names
    _aside: dict[str, tuple[str, ...]] = field(default_factory=dict)  # the same of files that do not name torch

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        if self._own is not None:
            self._own.shutdown(cancel_futures=True)

    def add(self, paths: Sequence[str], texts: dict[str, Source] | None = None) -> None:
        """Find and index the files under `paths`, and what they import. Raises MissingPath."""
        layout.forget()
        self.texts.update(texts or {})
        found = discover([p for p in paths if p not in self.texts], self.config)
        named = {os.path.normpath(p) for p in paths if os.path.isfile(p)} | self.texts.keys()
        self.files = sorted({*found, *self.texts})
        self.roots = tuple(os.path.abspath(path) for path in paths if os.path.isdir(path))
        self._start_pool()
        self._enter(self.files, named)

    def extend(self, paths: Sequence[str], texts: dict[str, Source] | None = None) -> None:
        """Add single files to a session that has its files already, whatever discovery says of them."""
        self.texts.update(texts or {})
        fresh = [path for path in paths if path not in self.files]
        self.files = sorted({*self.files, *fresh})
        self._enter([path for path in paths if path in fresh or path in self.texts], set(paths))

    def _enter(self, paths: Sequence[str], named: Set[str]) -> None:
        modules = layout.names(paths, self._taken)
        self._index([Item(path, *modules[path], path in named) for path in paths], "indexing")
        self._link()

    def _start_pool(self) -> None:
        if self.executor is not None or self.jobs < 2 or len(self.files) < 2:
            return
        if _many(self.files):
            self._own = new_pool(min(self.jobs, len(self.files)))

    def _index(self, items: Sequence[Item], what: str) -> None:
        self.settled = None
        self.items.update((item.path, item) for item in items)
        if self.trail is not None:
            self.trail.note(item.path for item in items)
        local = [item for item in items if item.path in self.texts]
        remote = [item for item in items if item.path not in self.texts]
        with calm_gc():
            for item in local:
                self._store(item, index(item, self.texts[item.path]))
        for item, result in self._indexed(remote, what):
            self._store(item, result)

    def _indexed(self, items: Sequence[Item], what: str) -> Iterator[tuple[Item, Indexed]]:
        """In order, as the order of files decides between functions of one name."""
        shelf = self.trail.shelf if self.trail is not None else None
        if shelf is None:
            yield from self._map(self._indexer(stamped=False), items, what, _parser_crashed)
            return
        known = {item.path: result for item in items if (result := shelf.index(item)) is not None}
        fresh = [item for item in items if item.path not in known]
        made = self._map(self._indexer(stamped=True), fresh, what, _parser_crashed)
        known.update((item.path, result) for item, result in made)
        for item in items:
            shelf.keep(item, known[item.path])
            yield item, known[item.path]

    def _indexer(self, *, stamped: bool) -> Callable[[Sequence[Item]], list[Indexed]]:
        return partial(_index_all, stamped=stamped, take=self._take if self._alone else None)

    def _take(self, source: Source, functions: Iterable[tuple[FunctionInfo, ast.stmt]]) -> None:
        """Where this process will check what it indexes, it parses most functions once."""
        self._own_slices().make_ahead(source, functions)

    def _own_slices(self) -> Slices:
        from torchmemlint.flow.units import Slices

        if self._slices is None:
            self._slices = Slices()
        return self._slices

    def _store(self, item: Item, result: Indexed) -> None:
        self.indexes.pop(item.path, None)
        self.failures.pop(item.path, None)
        self._aside.pop(item.path, None)
        if result.file is not None:
            self.indexes[item.path] = result.file
            self._imports[item.path] = result.imports
        elif result.failure is not None:
            self.failures[item.path] = result.failure
        else:
            self._aside[item.path] = result.imports

    def _link(self) -> None:
        """Index what the indexed files import and what imports them, until nothing is new."""
        self._follow_imports()
        while self._add_importers():
            self._follow_imports()

    def _follow_imports(self) -> None:
        """Index what the indexed files import, transitively: files of the run first come, others up to a limit."""
        spelled = {os.path.abspath(path): path for path in self.files}
        known = set(self.items) - (set(self.files) - self.indexes.keys() - self.failures.keys())
        todo, outside = list(self.indexes), 0
        while todo:
            wanted: dict[str, None] = {}
            for importer, target in ((path, name) for path in todo for name in self._imports[path]):
                for path in layout.imported(importer, target, self.roots):
                    path = spelled.get(path) or layout.spelled_like(importer, path)
                    if path in known or (path not in self.items and outside >= OUTSIDE_LIMIT):
                        continue
                    outside += path not in self.items
                    known.add(path)
                    wanted[path] = None
            modules = layout.names(list(wanted), self._taken)
            self._index([Item(path, *modules[path], True) for path in wanted], "following imports")
            todo = [path for path in wanted if path in self.indexes]
        self.failures = {path: d for path, d in self.failures.items() if path in spelled.values()}

    def _add_importers(self) -> bool:
        """Index the files that do not name torch but import one that does: they may hand it what it works with. Are
        there any?"""
        known = {os.path.abspath(path) for path in self.indexes}
        heads = {part for path in self.indexes for part in self.items[path].module.split(".")}
        fresh = [path for path, targets in self._aside.items() if self._reaches(path, targets, heads, known)]
        if not fresh:
            return False
        self._index([replace(self.items[path], named=True) for path in fresh], "following imports")
        for path in fresh:
            self.failures.pop(path, None)  # it was no business of ours before
        return True

    def _reaches(self, path: str, targets: tuple[str, ...], heads: set[str], known: set[str]) -> bool:
        near = (target for target in targets if not heads.isdisjoint(target.split(".")))
        return any(file in known for target in near for file in layout.imported(path, target, self.roots))

    def update(self, texts: dict[str, Source]) -> None:
        """Give files another text and index them again."""
        self.texts.update(texts)
        self._index([replace(self.items[path], named=True) for path in texts], "indexing")

    def reread(self, paths: Sequence[str]) -> None:
        """Index files again that changed on disk; those that aren't part of the run are left alone."""
        self._index([self.items[path] for path in paths if path in self.items], "indexing")
        self._link()

    def check(self, paths: Iterable[str] | None = None) -> list[Diagnostic]:
        """All findings of `paths` (of all files of the run if None), sorted."""
        if self.settled is not None and paths is None:
            return list(self.settled)
        trail = self.trail if paths is None and not self.texts else None
        found = sorted(self._found(paths, trail.shelf if trail is not None else None))
        if trail is not None:
            trail.remember(self.files, found)
        return found

    def _found(self, paths: Iterable[str] | None, shelf: Shelf | None) -> list[Diagnostic]:
        wanted = self.files if paths is None else [p for p in self.files if p in set(paths)]
        selection = Selection(self.config)
        result = [self.failures[p] for p in wanted if p in self.failures]
        result = [diagnostic for diagnostic in result if selection.shows(diagnostic)]
        checked = [path for path in wanted if path in self.indexes]
        with calm_gc():
            known = shelf.reusable(self.indexes, checked) if shelf is not None else {}
            result += [diagnostic for found in known.values() for diagnostic in found]
            checked = [path for path in checked if path not in known]
            alone = self._alone or (bool(known) and self.executor is None and not _many(checked))
            checker = self._checker(alone, shelf) if checked else None
            for path, (diagnostics, grounds) in self._checked(checker, checked, alone) if checker else ():
                result.extend(diagnostics)
                if shelf is not None:
                    shelf.note(path, diagnostics, grounds)
        return result

    @property
    def _alone(self) -> bool:
        """Are the files checked in this process?"""
        return self.executor is None and self._own is None

    def _checker(self, alone: bool, shelf: Shelf | None) -> FileChecker:
        from torchmemlint.index.project import ProjectIndex

        stamps = shelf.stamps() if shelf is not None else None
        slices = self._own_slices() if alone else None
        return FileChecker(ProjectIndex(self.indexes), self.config, self.texts, slices=slices, stamps=stamps)

    def _checked(self, checker: FileChecker, paths: Sequence[str], alone: bool) -> Iterator[tuple[str, Checked]]:
        if alone:
            with frozen():
                for done, path in enumerate(paths, 1):
                    yield path, (checker.check(path), checker.grounds())
                    self._tell("checking", done, len(paths))
            return
        with _shared(checker, self.executor is None) as shared:
            task = _Task(uuid.uuid4().hex, shared)
            crash = "TML999", "not checked: the process that checked it was killed"
            yield from self._map(task, paths, "checking", lambda path: ([special(path, *crash)], None))

    def _tell(self, what: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(what, done, total)

    def _map(
        self, work: Callable[[Sequence[T]], list[R]], items: Sequence[T], what: str, crashed: Callable[[T], R]
    ) -> Iterator[tuple[T, R]]:
        """(item, result) in order; on the executor when there is one. `crashed` stands in where a process died."""
        pool = self.executor or self._own
        if pool is None or len(items) < 2:
            for done, item in enumerate(items, 1):
                yield item, work([item])[0]
                self._tell(what, done, len(items))
            return
        # Each chunk carries the project to a foreign executor: few and large ones.
        chunks = chunks_of(items, self.jobs if self._own else max(self.jobs, 8), 40 if self._own else 1000)
        futures = {submitted(pool, work, chunk): chunk for chunk in chunks}
        results: dict[int, list[R]] = {}
        done = 0
        for future in as_completed(futures):
            if self.executor is None and isinstance(future.exception(), BrokenProcessPool):
                self._own = None
            results[id(future)] = self._result(future, work, futures[future], crashed)
            done += len(futures[future])
            self._tell(what, done, len(items))
        if pool is not self.executor and self._own is None:
            self._own = new_pool(self.jobs)
        for future, chunk in futures.items():
            yield from zip(chunk, results[id(future)])

    def _result(
        self, future: Future[list[R]], work: Callable[[Sequence[T]], list[R]], chunk: Sequence[T],
        crashed: Callable[[T], R],
    ) -> list[R]:  # fmt: skip
        """A chunk's results; if our pool broke, those of its items one by one, each in a process that may die."""
        try:
            return future.result()
        except BrokenProcessPool:
            if self.executor is not None:
                raise
        return one_by_one(work, chunk, crashed)


@dataclass(frozen=True)
class _Task:
    """`_check_all` with the project bound to it; travels to workers."""

    token: str
    shared: bytes | str

    def __call__(self, paths: Sequence[str]) -> list[Checked]:
        return _check_all(self.token, self.shared, paths)


@contextlib.contextmanager
def _shared(checker: FileChecker, same_machine: bool) -> Iterator[bytes | str]:
    """The pickled checker: in a temporary file for processes of this machine, as bytes for others."""
    data = pickle.dumps(checker, pickle.HIGHEST_PROTOCOL)
    if not same_machine:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="torchmemlint-") as folder:
        name = os.path.join(folder, "project.pickle")
        with open(name, "wb") as file:
            file.write(data)
        yield name


def _parser_crashed(item: Item) -> Indexed:
    return Indexed(failure=special(item.path, "TML999", "the parser crashed"))


def _many(paths: Sequence[str]) -> bool:
    """Does a pool pay?"""
    return len(paths) >= POOL_FILES or sum(map(_size, paths)) >= POOL_BYTES


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
