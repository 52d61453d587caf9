"""Fixing in rounds: apply what doesn't overlap, check again, until nothing is left to fix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from torchmemlint.engine import Session, source_of
from torchmemlint.findings import Diagnostic, Fix
from torchmemlint.fixes import FileChanged, apply_checked, unified_diff, write_atomically
from torchmemlint.source import Source, SourceError

ROUNDS = 10


@dataclass
class Mended:
    """What fixing came to: findings left, texts before and after, fixes made, and notes on what could not be done."""

    left: list[Diagnostic] = field(default_factory=list)
    before: dict[str, Source] = field(default_factory=dict)
    after: dict[str, Source] = field(default_factory=dict)
    made: int = 0
    notes: list[str] = field(default_factory=list)

    def changed(self) -> list[str]:
        """The files whose text is another one now, sorted."""
        return sorted(path for path, text in self.after.items() if text.data != self.before[path].data)

    def diff(self) -> str:
        """All changes in unified format."""
        pairs = ((self.before[path].documents(), self.after[path].documents()) for path in self.changed())
        return "".join(unified_diff(label, a, b) for old, new in pairs for (label, a), (_, b) in zip(old, new))

    def write(self) -> None:
        """Replace the changed files on disk; one that can't be written is noted."""
        for path in self.changed():
            old, new = self.before[path], self.after[path]
            try:
                write_atomically(path, new.encode(new.data), old.raw)
            except (OSError, FileChanged) as error:
                self.notes.append(f"{path}: not fixed: {error}")
                self.after[path] = old


def mend(session: Session, unsafe: bool, keep: int = ROUNDS) -> Mended:
    """Fix the session's files in memory, at most `keep` rounds. Files that other files' fixes may concern are checked
    again at the end."""
    result = Mended()
    found = session.check()
    broken: set[Fix] = set()
    fresh = True  # `found` covers all files as they are now
    for _ in range(keep):
        changed = _round(session, found, unsafe, result, broken)
        if changed:
            session.update(changed)
            found = sorted([d for d in found if d.filename not in changed] + session.check(changed))
        elif fresh:
            break
        else:
            found = session.check()
        fresh = not changed
    result.left = found
    return result


def fixable(diagnostic: Diagnostic, unsafe: bool) -> bool:
    """Would a run with or without --unsafe-fixes fix it?"""
    return diagnostic.fix is not None and (diagnostic.fix.safe or unsafe)


def _round(
    session: Session, found: Sequence[Diagnostic], unsafe: bool, result: Mended, broken: set[Fix]
) -> dict[str, Source]:
    """Apply one round to every file; the new texts of those that changed."""
    by_file: dict[str, list[Fix]] = {}
    for diagnostic in found:
        if diagnostic.fix is not None and fixable(diagnostic, unsafe) and diagnostic.fix not in broken:
            by_file.setdefault(diagnostic.filename, []).append(diagnostic.fix)
    changed = {}
    for path, fixes in by_file.items():
        text = _mended(session, path, list(dict.fromkeys(fixes)), result, broken)
        if text is not None:
            result.after[path] = changed[path] = text
    return changed


def _mended(session: Session, path: str, fixes: Sequence[Fix], result: Mended, broken: set[Fix]) -> Source | None:
    """The file after these fixes; None where it stays as it is."""
    try:
        old = source_of(session, path)
    except SourceError:
        return None
    data, made, bad = apply_checked(old.data, fixes)
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
    result.before.setdefault(path, old)
    result.made += len(made)
    return replace(old, data=data, raw=result.before[path].raw)
