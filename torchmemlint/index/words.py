"""Sets of words that take little memory: one text each. A project holds a million words, most of them many times."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Set
from functools import cache, lru_cache

LONG = 2_000  # characters: a longer text is not searched for each word anew
FEW = 4  # words that are searched for one by one


@lru_cache(maxsize=32)
def _spread(text: str) -> frozenset[str]:
    return frozenset(_split(text))


def _split(text: str) -> list[str]:
    return text[1:-1].split("\n") if text else []


@cache
def _beginning(beginnings: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"^(?:{'|'.join(map(re.escape, beginnings))})(.*)", re.MULTILINE)


def spelled(word: str) -> str:
    """What stands in the text of a set of words that has this one: to look for it in many."""
    return f"\n{word}\n"


class Words(Set[str]):
    """A set of words, none of which holds a line feed; sorted, so that equal sets have equal texts."""

    __slots__ = ("text",)
    text: str

    def __init__(self, words: Iterable[str] = ()) -> None:
        known = sorted(words if isinstance(words, (set, frozenset)) else {*words})
        self.text = "\n".join(["", *known, ""]) if known else ""

    @classmethod
    def _of(cls, text: str) -> Words:
        made = cls.__new__(cls)
        made.text = text
        return made

    @classmethod
    def _from_iterable(cls, it: Iterable[str]) -> frozenset[str]:  # type: ignore[override]
        return frozenset(it)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Words._of, (self.text,)

    def __contains__(self, word: object) -> bool:
        return f"\n{word}\n" in self.text

    def after(self, *beginnings: str) -> frozenset[str]:
        """What follows in the words that begin with one of these."""
        return frozenset(_beginning(beginnings).findall(self.text))

    def __iter__(self) -> Iterator[str]:
        return iter(_split(self.text))

    def __len__(self) -> int:
        return max(0, self.text.count("\n") - 1)

    def __bool__(self) -> bool:
        return bool(self.text)

    def __repr__(self) -> str:
        return f"Words({_split(self.text)})"

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Words) else super().__eq__(other)

    def spread(self) -> frozenset[str]:
        """The words as a set of Python's."""
        return _spread(self.text) if len(self.text) > LONG else frozenset(_split(self.text))

    def isdisjoint(self, other: Collection[str]) -> bool:  # type: ignore[override]
        """Is none of the others among the words?"""
        text = self.text
        if len(text) <= LONG and len(other) <= FEW:
            return not any(f"\n{word}\n" in text for word in other)
        return self.spread().isdisjoint(other)

    def __and__(self, other: Iterable[str]) -> frozenset[str]:
        return self.spread().intersection(other)

    __rand__ = __and__

    def __or__(self, other: Iterable[str]) -> frozenset[str]:  # type: ignore[override]
        return self.spread().union(other)

    __ror__ = __or__

    def without(self, others: Words, more: Words) -> frozenset[str]:
        """The words but the others, with some more. (One set is made, as this is asked of each function.)"""
        both = self.text[:-1] + more.text if self.text and more.text else self.text or more.text
        words = frozenset(_split(both))
        return words.difference(_split(others.text)) if others else words

    def __sub__(self, other: Iterable[str]) -> frozenset[str]:
        return self.spread().difference(other)


NO_WORDS = Words()
