"""Applying fixes to text: in rounds, each fix wholly or not at all."""

from __future__ import annotations

import ast
import bisect
import difflib
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from torchmemlint.findings import Edit, Fix

_Range = tuple[int, int, str]


def _key(edit: Edit) -> _Range:
    return edit.start, edit.end, edit.content


def _mergeable(edit: Edit) -> bool:
    """Whether made once is as good as made twice: replaced text, or whole lines; not half of a pair of brackets."""
    return edit.start < edit.end or edit.content.endswith(("\n", "\r"))


class _Taken:
    """The edits made so far; none of them touches one of a different fix."""

    def __init__(self) -> None:
        self.edits: dict[_Range, Edit] = {}
        self._ordered: list[_Range] = []

    def admits(self, fix: Fix) -> bool:
        """Whether the fix's edits touch none taken, except for equal ones."""
        return all(self._free(edit) for edit in fix.edits)

    def _free(self, edit: Edit) -> bool:
        if _key(edit) in self.edits and _mergeable(edit):
            return True
        at = bisect.bisect_left(self._ordered, _key(edit))
        return not any(
            start <= edit.end and edit.start <= end for start, end, _ in self._ordered[max(at - 1, 0) : at + 1]
        )

    def take(self, fix: Fix) -> None:
        """Add the fix's edits."""
        for edit in fix.edits:
            if _key(edit) not in self.edits:
                self.edits[_key(edit)] = edit
                bisect.insort(self._ordered, _key(edit))


def _sound(fix: Fix, size: int) -> bool:
    """Whether the edits lie in the text, in order."""
    at = 0
    for edit in sorted(fix.edits, key=_key):
        if not at <= edit.start <= edit.end <= size:
            return False
        at = edit.end
    return bool(fix.edits)


def _spliced(data: bytes, edits: Iterable[Edit]) -> bytes:
    pieces, at = [], 0
    for edit in sorted(edits, key=_key):
        pieces += [data[at : edit.start], edit.content.encode("utf-8")]
        at = edit.end
    return b"".join([*pieces, data[at:]])


_DELETION = re.compile(r"([ \t]*)del (\w+(?:, \w+)*)(\r?\n|\r)")


def _together(fixes: Iterable[Fix]) -> Iterator[tuple[Fix, list[Fix]]]:
    """The fixes; those that only insert a `del` at the same place, as deep, become one that deletes all their names."""
    groups: dict[object, list[tuple[Fix, list[str]]]] = {}
    for fix in fixes:
        edit = fix.edits[0] if len(fix.edits) == 1 else None
        line = _DELETION.fullmatch(edit.content) if edit is not None and edit.start == edit.end else None
        if edit is None or line is None:
            yield fix, [fix]
        else:
            groups.setdefault((edit.start, line[1], line[3]), []).append((fix, line[2].split(", ")))
    for group in groups.values():
        first, edit = group[0][0], group[0][0].edits[0]
        names = ", ".join(dict.fromkeys(name for _, deleted in group for name in deleted))
        content = _DELETION.sub(rf"\1del {names}\3", edit.content)
        members = [fix for fix, _ in group]
        yield (first if len(group) == 1 else replace(first, edits=(replace(edit, content=content),))), members


def apply(data: bytes, fixes: Sequence[Fix]) -> tuple[bytes, list[Fix]]:
    """One round: the text (UTF-8, as in `Source.data`) with all fixes made that do not touch one another, by place, and
    the fixes that were made. The others must be found again in the new text."""
    taken, made = _Taken(), list[Fix]()
    for fix, members in _together(sorted(fixes, key=lambda fix: [_key(edit) for edit in fix.edits])):
        if _sound(fix, len(data)) and taken.admits(fix):
            taken.take(fix)
            made += members
    return _spliced(data, taken.edits.values()), made


def parses(data: bytes) -> bool:
    """Whether the text is a Python program."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(data.decode("utf-8"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def apply_checked(data: bytes, fixes: Sequence[Fix]) -> tuple[bytes, list[Fix], list[Fix]]:
    """`apply`, but only fixes after which the text still parses: (new text, fixes made, fixes that break it)."""
    result, made = apply(data, fixes)
    if parses(result):
        return result, made, []
    if len(made) == 1:
        return data, [], made
    return _halved(data, made)


def _halved(data: bytes, fixes: list[Fix]) -> tuple[bytes, list[Fix], list[Fix]]:
    """The most of `fixes`, which do not touch one another, that together leave a program."""
    good: list[Fix] = []
    bad: list[Fix] = []
    waiting = [fixes[len(fixes) // 2 :], fixes[: len(fixes) // 2]]
    while waiting:
        group = waiting.pop()
        if parses(apply(data, good + group)[0]):
            good += group
        elif len(group) == 1:
            bad += group
        else:
            waiting += [group[len(group) // 2 :], group[: len(group) // 2]]
    return apply(data, good)[0], good, bad


def _lines(text: str) -> list[str]:
    return [line + "\n" for line in text.split("\n")[:-1]] + [last for last in text.split("\n")[-1:] if last]


def unified_diff(path: str, before: str, after: str) -> str:
    """The difference in unified format, empty where there is none; carriage returns stay as they are."""
    pieces = []
    for line in difflib.unified_diff(_lines(before), _lines(after), path, path):
        pieces.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(pieces)
