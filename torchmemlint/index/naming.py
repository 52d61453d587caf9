"""Which files and functions of a project name a word."""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Iterable, Iterator, Sequence

from torchmemlint.index.model import FileIndex, FunctionInfo
from torchmemlint.index.words import spelled

_BITS = 24  # of a file's number
_MASK = (1 << 39) - 1  # of a word's hash: both together are one number of 64 bits, without a sign


class Naming:
    """All words of all files as sorted numbers, the word's hash before the file's place: eight bytes each."""

    def __init__(self, files: Sequence[FileIndex]) -> None:
        self.files_in_order = files
        self._numbers = array("q", sorted(_number(w) | place for place, file in enumerate(files) for w in file.words))

        self._mentions: dict[str, list[FunctionInfo]] = {}

    def mentions(self, word: str) -> list[FunctionInfo]:
        """The functions and module bodies in whose text the word occurs."""
        if word not in self._mentions:
            infos = (info for file in self.files(word) for info in file.functions.values())
            wanted = spelled(word)
            self._mentions[word] = [info for info in infos if wanted in info.words.text]
        return self._mentions[word]

    def files_of(self, words: Iterable[str]) -> Iterator[FileIndex]:
        """The files that name one of the words."""
        return (file for word in words for file in self.files(word) if word in file.words)

    def files(self, word: str) -> Iterator[FileIndex]:
        """The files that name the word, in order; a few others too, where a hash is that of another word."""
        numbers, wanted = self._numbers, _number(word)
        at, end = bisect.bisect_left(numbers, wanted), wanted + (1 << _BITS)
        while at < len(numbers) and numbers[at] < end:
            yield self.files_in_order[numbers[at] - wanted]
            at += 1


def _number(word: str) -> int:
    return (hash(word) & _MASK) << _BITS
