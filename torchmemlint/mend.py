"""Fixing in rounds: apply what doesn't overlap, check again, until nothing is left to fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torchmemlint.engine import Session
from torchmemlint.files import source_of
from torchmemlint.findings import Diagnostic, Fix
from torchmemlint.fixes import FileChanged, apply_checked, unified_diff, write_atomically
from torchmemlint.source import Source, SourceError

ROUNDS = 25
GRAD_MODE = "TML2"
Wanted = Callable[[Sequence[Diagnostic]], Sequence[Diagnostic]]
_Kind = tuple[Any, ...]


@dataclass
class Mended:
    """What fixing came to: findings left, texts before and after, fixes made, and notes on what could not be done."""

    session: Session
    left: list[Diagnostic] = field(default_factory=list)
    found: dict[str, list[Diagnostic]] = field(default_factory=dict)  # of the changed files, before the change
    before: dict[str, Source] = field(default_factory=dict)
    after: dict[str, Source] = field(default_factory=dict)
    by_file: dict[str, Counter[str]] = field(default_factory=dict)  # fixes made, by code
    seen: dict[str, set[bytes]] = field(default_factory=dict)  # the texts that a file has had
    notes: list[str] = field(default_factory=list)

    @property
    def codes(self) -> Counter[str]:
        """How many findings of each code were fixed."""
        return sum(self.by_file.values(), Counter())

    @property
    def made(self) -> int:
        """How many findings were fixed."""
        return self.codes.total()

    def changed(self) -> list[str]:
        """The files whose text is another one now, sorted."""
        return sorted(path for path, text in self.after.items() if text.data != self.before[path].data)

    def diff(self) -> str:
        """All changes in unified format."""
        pairs = ((self.before[path].documents(), self.after[path].documents()) for path in self.changed())
        return "".join(unified_diff(label, a, b) for old, new in pairs for (label, a), (_, b) in zip(old, new))

    def write(self) -> None:
        """Replace the changed files on disk; one that can't be written is noted, and has the findings it had."""
        for path in self.changed():
            old, new = self.before[path], self.after[path]
            try:
                write_atomically(path, new.encode(new.data), old.raw)
            except (OSError, FileChanged) as error:
                self.notes.append(f"{path}: not fixed: {error}")
                self.after[path] = old
                self.by_file.pop(path, None)
                self.left = sorted([d for d in self.left if d.filename != path] + self.found[path])
                self.session.update({path: old})


@dataclass
class _Round:
    """One file in one round: its text before and after, and the findings whose fixes were made."""

    old: Source
    new: Source
    made: list[Diagnostic]
    kinds: list[_Kind]  # of what was made


def mend(session: Session, unsafe: bool, keep: int = ROUNDS, wanted: Wanted = list) -> Mended:
    """Fix the session's files in memory, at most `keep` rounds. Files that other files' fixes may concern are checked
    again at the end. A fix that does not take its finding away is taken back. `wanted` picks the findings to fix."""
    result, broken = Mended(session), set[Any]()
    found = session.check()
    fresh = True  # `found` covers all files as they are now
    for _ in range(keep):
        rounds = _round(session, wanted(found), unsafe, result, broken)
        if rounds:
            before = _kinds(session, found)
            session.update({path: each.new for path, each in rounds.items()})
            now = session.check(list(rounds))
            kept = _accepted(session, rounds, before, now, result, broken)
            _note_found(result, kept, found)
            found = sorted([d for d in found if d.filename not in kept] + [d for d in now if d.filename in kept])
        elif fresh:
            break
        else:
            found = session.check()
        fresh = not rounds
    result.left = found
    return result


def fixable(diagnostic: Diagnostic, unsafe: bool) -> bool:
    """Would a run with or without --unsafe-fixes fix it?"""
    return diagnostic.fix is not None and (diagnostic.fix.safe or unsafe)


def _round(
    session: Session, found: Sequence[Diagnostic], unsafe: bool, result: Mended, broken: set[Any]
) -> dict[str, _Round]:
    """Try one round on every file; those that change."""
    by_file: dict[str, dict[Fix, Diagnostic]] = {}
    for diagnostic in found:
        fix = diagnostic.fix
        if fix is not None and fixable(diagnostic, unsafe) and not {fix, _kind(session, diagnostic)} & broken:
            by_file.setdefault(diagnostic.filename, {}).setdefault(fix, diagnostic)
    rounds = {path: _mended(session, path, _first(fixes), result, broken) for path, fixes in by_file.items()}
    return {path: each for path, each in rounds.items() if each is not None}


def _first(fixes: dict[Fix, Diagnostic]) -> dict[Fix, Diagnostic]:
    """Those that turn grad off, if there are any: what they leave of the other findings is another matter."""
    return {fix: d for fix, d in fixes.items() if d.code.startswith(GRAD_MODE)} or fixes


def _kind(session: Session, diagnostic: Diagnostic) -> _Kind:
    """What a finding and its fix are, in which function, wherever that stands in the file."""
    fix = diagnostic.fix
    edits = (fix.message, *(edit.content for edit in fix.edits)) if fix is not None else ()
    index = session.indexes.get(diagnostic.filename)
    around = [
        function
        for function in (index.functions.values() if index is not None else ())
        if function.name and function.first_line <= diagnostic.row <= function.end_line
    ]
    scope = max(around, key=lambda function: function.first_line).qualname if around else ""
    return diagnostic.filename, scope, diagnostic.code, diagnostic.message, edits


def _kinds(session: Session, found: Sequence[Diagnostic]) -> Counter[_Kind]:
    return Counter(_kind(session, diagnostic) for diagnostic in found)


def _accepted(
    session: Session,
    rounds: dict[str, _Round],
    before: Counter[_Kind],
    now: Sequence[Diagnostic],
    result: Mended,
    broken: set[Any],
) -> set[str]:
    """The files whose fixes took their findings away; the others get their text back."""
    after = _kinds(session, now)
    undone: dict[str, Source] = {}
    for path, each in rounds.items():
        made = Counter(each.kinds)
        futile = [(d, kind) for d, kind in zip(each.made, each.kinds) if after[kind] > before[kind] - made[kind]]
        if each.new.data in result.seen.setdefault(path, {each.old.data}):
            undone[path] = each.old  # fixes that undo one another
            broken.update(each.kinds)
            result.notes += [f"{path}:{d.row}: {d.code} left as it is: another fix undoes it" for d in each.made]
        elif futile:
            undone[path] = each.old
            broken.update(kind for _, kind in futile)
            result.notes += [f"{path}:{d.row}: {d.code} left as it is: it would still be found" for d, _ in futile]
        else:
            result.before.setdefault(path, each.old)
            result.after[path] = each.new
            result.seen[path].add(each.new.data)
            result.by_file.setdefault(path, Counter()).update(d.code for d in each.made)
    if undone:
        session.update(undone)
    return set(rounds) - set(undone)


def _note_found(result: Mended, kept: set[str], found: Sequence[Diagnostic]) -> None:
    """Remember what was found in files before their first change."""
    for path in kept:
        if path not in result.found:
            result.found[path] = [d for d in found if d.filename == path]


def _mended(
    session: Session, path: str, fixes: dict[Fix, Diagnostic], result: Mended, broken: set[Any]
) -> _Round | None:
    """The file after these fixes; None where it stays as it is."""
    try:
        old = source_of(session, path)
    except SourceError:
        return None
    data, made, bad = apply_checked(old.data, list(fixes))
    broken.update(bad)
    result.notes += [f"{path}: left as it is: the result of `{fix.message}` would not parse" for fix in bad]
    if data == old.data:
        return None
    try:
        old.encode(data)
    except UnicodeEncodeError:
        broken.update(made)
        result.notes.append(f"{path}: left as it is: the fix has characters that {old.encoding} lacks")
        return None
    except SourceError as error:
        broken.update(made)
        result.notes.append(f"{path}: left as it is: {error}")
        return None
    raw = result.before[path].raw if path in result.before else old.raw
    diagnostics = [fixes[fix] for fix in made]
    kinds = [_kind(session, diagnostic) for diagnostic in diagnostics]
    return _Round(old, replace(old, data=data, raw=raw), diagnostics, kinds)
