"""Pseudo-words that only the linked project tells: who keeps what others hand over, who is handed something live, which
methods are a part of a forward. Other objects' methods are told apart by their names alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchmemlint.flow.values import Fact
from torchmemlint.index.marks import (
    AIDS,
    ATTRIBUTE,
    BORROWS,
    CALLS,
    COLLECTS,
    GATHERS,
    GRAPHS,
    HANDS,
    KEEPERS,
    KEEPS,
    LOOPS,
    REFERS,
    RUNS_MODULES,
    TOTAL,
)
from torchmemlint.index.model import ClassInfo, FunctionInfo
from torchmemlint.knowledge import container_method, tensor_method

if TYPE_CHECKING:
    from torchmemlint.index.project import ProjectIndex

LINKED = (ATTRIBUTE, COLLECTS, TOTAL, KEEPERS, BORROWS, AIDS)
"""The marks that are added here."""
BACKWARD = frozenset({"backward", "manual_backward"})
CALLED_BY_CLASS = frozenset({"__init__", "__new__", "__post_init__", "__call__", "forward"})
_KEPT = frozenset({ATTRIBUTE})
_GATHERED = frozenset({ATTRIBUTE, COLLECTS, TOTAL})
_NONE: frozenset[str] = frozenset()


class Linked:
    """The marks that a project adds to those of its functions."""

    def __init__(self, project: ProjectIndex) -> None:
        self.project = project
        functions = [info for file in project.files.values() for info in file.functions.values()]
        self._handing = [(info, handed) for info in functions if (handed := self._callees(info, HANDS))]
        keeping = [info for info in functions if info.name and _may_keep(info)]
        self._keepers = self._keeping(keeping)
        self._objects = self._called(keeping)
        self._named = self._named_beside()
        self._fed = self._given_live(functions)
        self._aids = _aids(project)
        training = [info for info in functions if not info.words.isdisjoint(BACKWARD)]
        self._lent = frozenset(name for info in training for name in _helpers(info))

    def marks(self, info: FunctionInfo) -> frozenset[str]:
        """What is added to a function's own."""
        fed = KEEPS in info.marks and self._is_fed(info)
        once = not info.name and LOOPS not in info.marks  # what runs a single time collects nothing
        kept = _NONE if once or not self._hands_over(info) else frozenset({KEEPERS})
        given = _NONE if not fed else _GATHERED if GATHERS in info.marks else _KEPT
        lent = GRAPHS in info.marks and info.words.isdisjoint(BACKWARD) and not self._lent.isdisjoint(_helpers(info))
        borrows = frozenset({BORROWS}) if lent else _NONE
        return given | kept | borrows | (frozenset({AIDS}) if _key(info) in self._aids else _NONE)

    def _keeping(self, keeping: Iterable[FunctionInfo]) -> frozenset[str]:
        """The functions that may keep their arguments, themselves or through others: names and ids."""
        found = {name for info in keeping for name in _called_as(info)}
        before = -1
        while before < len(found):
            before = len(found)
            found.update(n for info, handed in self._handing if not handed.isdisjoint(found) for n in _called_as(info))
        return frozenset(found)

    def _called(self, keeping: Iterable[FunctionInfo]) -> frozenset[str]:
        """The classes of the project whose objects may keep what they are called with."""
        handing = (info for info, handed in self._handing if not handed.isdisjoint(self._keepers))
        found = {_class_name(self.project, info) for info in keeping if info.name in CALLED_BY_CLASS and info.owner}
        for info in handing:
            owner = self.project.owner(info) if info.name == "__call__" else None
            if owner is not None:
                found |= {owner.name, *(heir.name for heir in self.project.subclasses(owner))}
        return frozenset(found)

    def _named_beside(self) -> frozenset[tuple[str, str]]:
        """The classes (file, id) of which a method names such a class: an attribute may be one of its objects."""
        functions = (info for file in self.project.files.values() for info in file.functions.values() if info.owner)
        return frozenset((f.path, f.owner or "") for f in functions if not self._objects.isdisjoint(f.words))

    def _given_live(self, functions: Iterable[FunctionInfo]) -> set[str]:
        """The functions to which something live is handed over, by one that has it or was given it itself: names and
        ids."""
        fed = {name for info in functions for name in self._callees(info, CALLS, REFERS)} | self.project.renamed()
        waiting, left = self._handing, len(self._handing) + 1
        while len(waiting) < left:
            left = len(waiting)
            for info, handed in waiting:
                if _is_open(info) or not fed.isdisjoint(_called_as(info)):
                    fed |= handed
            waiting = [(info, handed) for info, handed in waiting if not handed <= fed]
        return fed

    def _hands_over(self, info: FunctionInfo) -> bool:
        """Does it call something that may keep its arguments, by name or as an object of a class that it names?"""
        if RUNS_MODULES in info.marks and (info.path, info.owner or "") in self._named:
            return True
        if not self._keepers.isdisjoint(self._callees(info, CALLS)):
            return True
        return RUNS_MODULES in info.marks and not self._objects.isdisjoint(info.words)

    def _is_fed(self, info: FunctionInfo) -> bool:
        return _is_open(info) or not self._fed.isdisjoint(_called_as(info))

    def _callees(self, info: FunctionInfo, *kinds: str) -> frozenset[str]:
        """What marks of these kinds name: ids of methods of the same object, names of others."""
        names = info.marks.after(*kinds)
        if not any(name.startswith(".") for name in names):
            return names
        owner = self.project.owner(info)
        plain = frozenset(name for name in names if not name.startswith("."))
        return plain.union(*(self._methods(owner, name[1:]) for name in names - plain))

    def _methods(self, owner: ClassInfo | None, name: str) -> Iterable[str]:
        """The ids of a method of the class and of its subclasses; of something else the name."""
        method = self.project.method(owner, name) if owner is not None else None
        if owner is None or method is None:
            return (name,)
        heirs = (self.project.method(sub, name) for sub in self.project.subclasses(owner) if name in sub.methods)
        return [_key(method), *(_key(other) for other in heirs if other is not None)]


def _may_keep(info: FunctionInfo) -> bool:
    """Does it put what it is given, or what it makes of that, on an object or into a container that it has not made?
    (What a forward makes is told there.)"""
    computes = ATTRIBUTE in info.marks and not info.marks.isdisjoint({COLLECTS, TOTAL}) and info.name != "forward"
    return KEEPS in info.marks or computes and len(info.parameters) > 1


def _is_open(info: FunctionInfo) -> bool:
    """Is it called in ways that do not show its name: by operators, as an object, through a decorator?"""
    return not info.name or info.name == "forward" or info.name.startswith("__") or bool(info.decorators)


def _called_as(info: FunctionInfo) -> tuple[str, ...]:
    """The name and the id under which a function shows in calls."""
    return () if info.name in CALLED_BY_CLASS else (info.name, _key(info))


def _key(info: FunctionInfo) -> str:
    return f"{info.path}|{info.id}"


def _helpers(info: FunctionInfo) -> Iterable[str]:
    """The names of what it calls, of whatever object, without those that tensors and containers have."""
    names = (name.removeprefix(".") for name in info.marks.after(CALLS, HANDS))
    return [name for name in names if not (tensor_method(name) or container_method(name))]


def _aids(project: ProjectIndex) -> set[str]:
    """Methods of modules that forwards call on other objects, or use of their own, directly or through others."""
    files = project.files.values()
    forwards = (info for file in files for info in file.functions.values() if info.name == "forward" and info.owner)
    called = {
        name
        for info in forwards
        for name in info.marks.after(CALLS, HANDS)
        if not (name.startswith(".") or tensor_method(name) or container_method(name))
    }
    classes = [info for file in files for info in file.classes.values()]
    names = frozenset(name for info in classes for name in info.methods if not name.startswith("__"))
    found: set[str] = set()
    for owner in classes:
        if project.is_module_class(owner) is Fact.YES:
            found |= {f"{owner.path}|{method}" for name, method in owner.methods.items() if name in called}
            _follow(project, owner, names, found)
    return found


def _follow(project: ProjectIndex, owner: ClassInfo, names: frozenset[str], found: set[str]) -> None:
    """Add what the forward of one class uses of its methods."""
    seen = {"forward"}
    todo = ["forward"]
    while todo:
        method = project.method(owner, todo.pop())
        if method is None:
            continue
        if method.name != "forward":
            found.add(_key(method))
        fresh = (method.words & names) - seen
        seen |= fresh
        todo += fresh


def _class_name(project: ProjectIndex, info: FunctionInfo) -> str:
    return project.files[info.path].classes[info.owner or ""].name
