"""The project as the analysis sees it: every look-up is answered once, and can be noted with what it was answered.

Who reads the project through its view depends on the answers that were noted, and on nothing else of it. So each answer
must tell all that is read off it: that of most look-ups counts with the contents of what it names (`CONTENT`); lists of
functions that are interpreted next count only with who is in them (`NAMES`), as their contents are noted then. Whoever
reads the contents of a function in such a list says so by `seen`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from torchmemlint.flow.values import Fact
from torchmemlint.index.attributes import Made, attribute_callers, made_attributes
from torchmemlint.index.linked import LINKED
from torchmemlint.index.model import ClassInfo, FileIndex, FunctionInfo
from torchmemlint.index.project import ProjectIndex
from torchmemlint.index.resolve import Target

T = TypeVar("T")
Look = tuple[Any, ...]
"""What was looked up: the kind and its arguments, as text and numbers."""


class View:
    """A project's look-ups. `note` is told of each, also of those that were answered before."""

    def __init__(self, project: ProjectIndex) -> None:
        self.project = project
        self.note: Callable[[Look], None] | None = None
        self.answers: dict[Look, Any] = {}
        self.files: Mapping[str, FileIndex] = _Files(self)
        self._made: Made | None = None

    def _told(self, look: Look, find: Callable[[], T]) -> T:
        if self.note is not None:
            self.note(look)
        try:
            found: T = self.answers[look]
        except KeyError:
            found = self.answers[look] = find()
        return found

    # files

    def header(self, path: str) -> FileIndex:
        """A file for its names; what its functions and classes are is not noted."""
        return self._told(("header", path), lambda: self.project.files[path])

    def whole(self, path: str) -> FileIndex | None:
        """A file with all that is in it."""
        return self._told(("whole", path), lambda: self.project.files.get(path))

    def everything(self) -> dict[str, FileIndex]:
        """All files with all that is in them."""
        return self._told(("everything",), lambda: self.project.files)

    def at(self, path: str | None, key: str | None) -> FunctionInfo | None:
        """The function of that id in the file."""
        return self._told(("at", path or "", key or ""), lambda: self._at(path or "", key or ""))

    def _at(self, path: str, key: str) -> FunctionInfo | None:
        file = self.project.files.get(path)
        return file.functions.get(key) if file is not None else None

    def seen(self, info: FunctionInfo) -> FunctionInfo:
        """The function itself: its contents are read."""
        return self.at(info.path, info.id) or info

    def body(self, index: FileIndex) -> FunctionInfo | None:
        """The module's top level."""
        return self.at(index.path, f"{index.module}:")

    def naming(self, path: str, *words: str) -> list[FunctionInfo]:
        """The functions of a file in whose text one of the identifiers occurs."""
        return self._told(("naming", path, *words), lambda: self._naming(path, words))

    def _naming(self, path: str, words: tuple[str, ...]) -> list[FunctionInfo]:
        return [info for info in self.project.files[path].functions.values() if not info.words.isdisjoint(words)]

    def names(self, info: FunctionInfo, word: str) -> bool:
        """Does the identifier occur in the function?"""
        return self._told(("names", info.path, info.id, word), lambda: word in info.words)

    def names_any(self, index: FileIndex, words: frozenset[str]) -> bool:
        """Does one of these identifiers occur in the file?"""
        look = ("names_any", index.path, *sorted(words))
        return self._told(look, lambda: not self.project.files[index.path].words.isdisjoint(words))

    def linked_name_any(self, path: str, words: frozenset[str]) -> bool:
        """Does one of these identifiers occur in a file that imports link with this one?"""
        return self._told(("linked_name_any", path, *sorted(words)), lambda: self.project.linked_name_any(path, words))

    # names

    def resolve(self, dotted: str, from_file: FileIndex | None = None) -> Target | None:
        """As `ProjectIndex.resolve`."""
        path = from_file.path if from_file is not None else ""
        return self._told(("resolve", dotted, path), lambda: self.project.resolve(dotted, from_file))

    def lookup(self, file: FileIndex, name: str) -> Target | str:
        """As `ProjectIndex.lookup`."""
        return self._told(("lookup", file.path, name), lambda: self.project.lookup(file, name))

    def dotted(self, file: FileIndex, name: str) -> str:
        """As `ProjectIndex.dotted`."""
        return self._told(("dotted", file.path, name), lambda: self.project.dotted(file, name))

    def indexed_class(self, file: FileIndex, dotted: str) -> ClassInfo | None:
        """As `ProjectIndex.indexed_class`."""
        return self._told(("indexed_class", file.path, dotted), lambda: self.project.indexed_class(file, dotted))

    def canonical(self, file: FileIndex, dotted: str) -> str:
        """As `ProjectIndex.canonical`."""
        return self._told(("canonical", file.path, dotted), lambda: self.project.canonical(file, dotted))

    # classes

    def owner(self, info: FunctionInfo) -> ClassInfo | None:
        """As `ProjectIndex.owner`."""
        if info.owner is None:
            return None
        return self._told(("owner", info.path, info.id), lambda: self.project.owner(info))

    def mro(self, info: ClassInfo) -> list[ClassInfo]:
        """As `ProjectIndex.mro`."""
        return self._told(("mro", info.path, info.id), lambda: self.project.mro(info))

    def external_bases(self, info: ClassInfo) -> frozenset[str]:
        """As `ProjectIndex.external_bases`."""
        return self._told(("external_bases", info.path, info.id), lambda: self.project.external_bases(info))

    def all_bases(self, info: ClassInfo) -> frozenset[str]:
        """As `ProjectIndex.all_bases`."""
        return self._told(("all_bases", info.path, info.id), lambda: self.project.all_bases(info))

    def is_module_class(self, info: ClassInfo) -> Fact:
        """As `ProjectIndex.is_module_class`."""
        return self._told(("is_module_class", info.path, info.id), lambda: self.project.is_module_class(info))

    def method(self, info: ClassInfo, name: str) -> FunctionInfo | None:
        """As `ProjectIndex.method`."""
        return self._told(("method", info.path, info.id, name), lambda: self.project.method(info, name))

    def methods(self, info: ClassInfo) -> list[FunctionInfo]:
        """As `ProjectIndex.methods`."""
        return self._told(("methods", info.path, info.id), lambda: self.project.methods(info))

    def methods_naming(self, info: ClassInfo, word: str) -> list[FunctionInfo]:
        """The methods that the class itself defines and in whose text the identifier occurs."""
        look = ("methods_naming", info.path, info.id, word)
        return self._told(look, lambda: [m for m in self.project.methods(info) if word in m.words])

    def subclasses(self, info: ClassInfo) -> list[ClassInfo]:
        """As `ProjectIndex.subclasses`."""
        return self._told(("subclasses", info.path, info.id), lambda: self.project.subclasses(info))

    def heirs(self, info: ClassInfo, method: FunctionInfo) -> list[ClassInfo]:
        """As `ProjectIndex.heirs`."""
        look = ("heirs", info.path, info.id, method.path, method.id)
        return self._told(look, lambda: self.project.heirs(info, method))

    def definitions(self, name: str, path: str) -> int:
        """As `ProjectIndex.definitions`."""
        return self._told(("definitions", name, path), lambda: self.project.definitions(name, path))

    # words

    def mentions(self, word: str, path: str | None = None) -> list[FunctionInfo]:
        """As `ProjectIndex.mentions`."""
        return self._told(("mentions", word, path or ""), lambda: self.project.mentions(word, path))

    def attribute_readers(self, attr: str, path: str | None = None) -> list[FunctionInfo]:
        """As `ProjectIndex.attribute_readers`."""
        return self.mentions(attr, path)

    def mentioned(self, word: str, path: str | None = None) -> bool:
        """Is there any mention of the identifier?"""
        return self._told(("mentioned", word, path or ""), lambda: bool(self.project.mentions(word, path)))

    def component(self, path: str) -> str:
        """As `ProjectIndex.component`."""
        return self._told(("component", path), lambda: self.project.component(path))

    def marks(self, info: FunctionInfo, *, own: bool = False) -> frozenset[str]:
        """As `ProjectIndex.marks`; `own`: for the findings of its own file, which rest on all that is in it anyway."""
        if not own:
            self.seen(info)
        linked = self.linked(info.path)
        words = info.own_marks()
        added = [mark for mark in LINKED if info.id + mark in linked] if linked else []
        return words.union(added) if added else words

    def linked(self, path: str) -> frozenset[str]:
        """The marks that only the linked project tells of a file's functions, behind their ids."""
        return self._told(("linked", path), lambda: frozenset(self._linked(path)))

    def _linked(self, path: str) -> Iterator[str]:
        functions = self.project.files[path].functions.values()
        return (info.id + mark for info in functions for mark in self.project.linked(info))

    def may_freeze(self, info: FunctionInfo) -> bool:
        """As `ProjectIndex.may_freeze`."""
        return self._told(("may_freeze", info.path, info.id), lambda: self.project.may_freeze(info))

    # callers

    def callers(self, info: FunctionInfo) -> list[FunctionInfo]:
        """As `ProjectIndex.callers`."""
        return self._told(("callers", info.path, info.id), lambda: self.project.callers(info))

    def has_more_callers(self, info: FunctionInfo, number: int) -> bool:
        """Are there more candidate callers than that?"""
        return self._told(("has_more_callers", info.path, info.id, str(number)), lambda: self._count(info) > number)

    def _count(self, info: FunctionInfo) -> int:
        known = self.answers.get(("callers", info.path, info.id))
        return len(known if known is not None else self.project.callers(info))

    def attribute_callers(self, info: FunctionInfo) -> list[FunctionInfo]:
        """Functions that may call an object of the method's class through an attribute."""
        return self._told(("attribute_callers", info.path, info.id), lambda: self._through(info))

    def _through(self, info: FunctionInfo) -> list[FunctionInfo]:
        if self._made is None:
            self._made = made_attributes(self.project)
        return attribute_callers(self.project, self._made, info)


class _Files(Mapping[str, FileIndex]):
    """The files of a project by path, for those who read more than their names: all of it is noted."""

    def __init__(self, view: View) -> None:
        self.view = view

    def __getitem__(self, path: str) -> FileIndex:
        found = self.view.whole(path)
        if found is None:
            raise KeyError(path)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.view.everything())

    def __len__(self) -> int:
        return len(self.view.everything())
