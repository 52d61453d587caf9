"""What findings rest on: which questions were asked for them, which look-ups those made, and what these were answered.

A question and a look-up are named by a number, so that what two processes or two runs note can be put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from torchmemlint.index.model import ClassInfo, FileIndex, FunctionInfo
from torchmemlint.index.stamps import Stamps, stamp_of

if TYPE_CHECKING:
    from torchmemlint.flow.program import Program

NAMES = frozenset({"mentions", "callers", "attribute_callers", "naming", "methods_naming"})
"""Look-ups whose answer counts with who is in it; the contents are noted by those who read them."""
Look = tuple[Any, ...]


def root(path: str) -> int:
    """The number of all that the findings of a file rest on."""
    return stamp_of(("file", path))


@dataclass
class Grounds:
    """What was noted: of each question the numbers of what it asked, of each look-up its answer's stamp."""

    asked: dict[int, set[int]] = field(default_factory=dict)
    looks: dict[int, tuple[Look, int]] = field(default_factory=dict)

    def add(self, other: Grounds) -> None:
        """Put in what another process has noted."""
        for name, found in other.asked.items():
            self.asked.setdefault(name, set()).update(found)
        self.looks.update(other.looks)

    def below(self, names: Iterable[int]) -> set[int]:
        """The questions and look-ups that these lead to, themselves included."""
        seen = set(names)
        todo = list(seen)
        while todo:
            fresh = self.asked.get(todo.pop(), _NOTHING) - seen
            seen |= fresh
            todo += fresh
        return seen

    def only(self, names: Iterable[int]) -> Grounds:
        """What these rest on."""
        used = self.below(names)
        asked = {name: found for name, found in self.asked.items() if name in used}
        return Grounds(asked, {name: look for name, look in self.looks.items() if name in used})

    def above(self, names: Iterable[int]) -> set[int]:
        """The questions that lead to one of these."""
        askers: dict[int, list[int]] = {}
        for name, found in self.asked.items():
            for each in found:
                askers.setdefault(each, []).append(name)
        seen = set(names)
        todo = list(seen)
        while todo:
            fresh = [name for name in askers.get(todo.pop(), ()) if name not in seen]
            seen.update(fresh)
            todo += fresh
        return seen


_NOTHING: frozenset[int] = frozenset()


class Stamper:
    """Stamps answers to look-ups: equal stamps mean that nothing that can be read off the answer has changed."""

    def __init__(self, stamps: Mapping[str, Stamps]) -> None:
        self.stamps = stamps
        self._plain: dict[tuple[type, Any], int] = {}

    def of(self, look: Look, answer: Any) -> int:
        """The stamp of what a look-up was answered."""
        kind = look[0]
        if kind == "whole":
            known = self.stamps.get(look[1])
            return known.text if known is not None else 0
        if kind == "everything":
            return stamp_of([(path, known.text) for path, known in self.stamps.items() if path in answer])
        if kind in NAMES:
            return stamp_of([(info.path, info.id) for info in answer])
        return self._content(answer)

    def _content(self, answer: Any) -> int:
        if isinstance(answer, FunctionInfo):
            return self.stamps[answer.path].functions[answer.id]
        if isinstance(answer, ClassInfo):
            return self.stamps[answer.path].classes[answer.id]
        if isinstance(answer, FileIndex):
            return self.stamps[answer.path].header
        if isinstance(answer, list):
            return stamp_of([self._content(each) for each in answer])
        if isinstance(answer, frozenset):
            return stamp_of(sorted(answer))
        key = answer.__class__, answer
        known = self._plain.get(key)
        if known is None:
            known = self._plain[key] = stamp_of(answer)
        return known


class Ledger:
    """Takes down, between files, what a program has noted since the last time."""

    def __init__(self, program: Program, stamps: Mapping[str, Stamps]) -> None:
        self.program = program
        self.stamper = Stamper(stamps)
        self._names: dict[Look, int] = {}
        self._told = 0

    def taken(self) -> Grounds:
        """What is new."""
        answers = self.program.project.answers
        looks = {
            self._name(look): (look, self.stamper.of(look, answer))
            for look, answer in islice(answers.items(), self._told, None)
        }
        self._told = len(answers)
        asked = {self._name(key): set(map(self._name, found)) for key, found in self.program.questions.taken().items()}
        return Grounds(asked, looks)

    def _name(self, key: Look) -> int:
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = stamp_of(key)
        return name
