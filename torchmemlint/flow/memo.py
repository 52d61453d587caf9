"""Answers kept: for good where they depend on the program alone, for one file where a recursion cut them short."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Depth:
    """How often a question was left open: by recursion, by a limit, or by the use of an answer that was cut short."""

    def __init__(self) -> None:
        self.cut = 0


class Memo(Generic[K, V]):
    """Answers by key. One that was cut short is asked again for the next file, so that what is found in a file does
    not depend on the files before it."""

    def __init__(self, depth: Depth, limit: int | None = None) -> None:
        self.depth = depth
        self.limit = limit
        self._whole: OrderedDict[K, V] = OrderedDict()
        self._short: dict[K, V] = {}

    def __contains__(self, key: K) -> bool:
        return key in self._whole or key in self._short

    def is_short(self, key: K) -> bool:
        """Was the kept answer cut short?"""
        return key in self._short

    def get(self, key: K, answer: Callable[[], V]) -> V:
        """The kept answer, else a new one."""
        if key in self._whole:
            return self._whole[key]
        if key in self._short:
            self.depth.cut += 1
            return self._short[key]
        return self.ask(key, answer)

    def ask(self, key: K, answer: Callable[[], V]) -> V:
        """A new answer, kept."""
        before = self.depth.cut
        self._short.pop(key, None)
        value = answer()
        if self.depth.cut != before:
            self._short[key] = value
            return value
        self._whole[key] = value
        if self.limit is not None and len(self._whole) > self.limit:
            self._whole.popitem(last=False)
        return value

    def forget(self) -> None:
        """Drop what was cut short."""
        self._short.clear()
