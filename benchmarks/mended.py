"""Mends copies of whole repositories, and holds each to what docs/fixes.md promises.

    python benchmarks/mended.py FOLDER... [--safe] [--hints-off] [--keep FOLDER] [--jobs 1]

All rules with their hints, `--fix --unsafe-fixes`. A row a folder: files, lines, fixes made, files changed, fixes by
code. What is asked of every file: it compiles if it did before; each round's text is the one before it with exactly
the bytes of its edits exchanged; the file written holds those bytes and no other file changed; the announced
difference, applied by git to the old files, gives the new ones; a second run over the written files finds nothing to
fix. Findings of a code that a file had fewer of before are listed. --keep leaves mended copies and differences there,
to be read or tested. Exits with 1 where anything is not as promised."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from measure import lines, listed, python_files

from torchmemlint import mend as mending
from torchmemlint.config import Config
from torchmemlint.engine import Session
from torchmemlint.findings import Diagnostic, Fix
from torchmemlint.fixes import apply_checked


@dataclass
class Result:
    """What one folder gave."""

    name: str
    files: int = 0
    lines: int = 0
    cpu: float = 0.0
    changed: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    appeared: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def copied(folder: Path, target: Path) -> dict[Path, bytes]:
    """Copy programs and notebooks; what they hold."""
    found = {}
    for path in python_files(folder, ".ipynb"):
        if path.is_file() and not path.is_symlink():
            copy = target / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            found[copy] = copy.read_bytes()
    return found


def compiles(raw: bytes) -> bool:
    """Is the file a program of this Python?"""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(raw, "m.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def only_edits_differ(old: bytes, new: bytes, made: Sequence[Fix]) -> bool:
    """Is the new text the old one with the ranges of the fixes' edits exchanged? Lines of `del` at one place may have
    become one."""
    ranges: dict[tuple[int, int], list[bytes]] = {}
    for edit in {edit for fix in made for edit in fix.edits}:
        ranges.setdefault((edit.start, edit.end), []).append(edit.content.encode())
    at = done = 0
    for (start, end), contents in sorted(ranges.items()):
        piece = old[at:start]
        if new[done : done + len(piece)] != piece:
            return False
        done += len(piece)
        if len(contents) == 1:
            content = contents[0]
        else:
            content = new[done : new.find(b"\n", done) + 1]
            names = {n for c in contents for n in c.strip().removeprefix(b"del ").split(b", ")}
            if set(content.strip().removeprefix(b"del ").split(b", ")) != names:
                return False
        if new[done : done + len(content)] != content:
            return False
        done, at = done + len(content), end
    return new[done:] == old[at:]


@contextlib.contextmanager
def watched(result: Result) -> Iterator[None]:
    """Look at each round's texts while `mend` makes them."""

    def apply(data: bytes, fixes: Sequence[Fix]) -> tuple[bytes, list[Fix], list[Fix]]:
        new, made, bad = apply_checked(data, fixes)
        if not only_edits_differ(data, new, made):
            result.problems.append(f"other bytes than the edits' differ: {[fix.message for fix in made]}")
        return new, made, bad

    mending.apply_checked = apply
    try:
        yield
    finally:
        mending.apply_checked = apply_checked


def kinds(found: Sequence[Diagnostic]) -> Counter[tuple[str, str]]:
    return Counter((d.filename, d.code) for d in found)


def mended(config: Config, jobs: int, unsafe: bool, result: Result) -> tuple[mending.Mended, list[Diagnostic], str]:
    """Mend the working directory: what came of it, what was found before, and the difference announced."""
    with Session(config, jobs) as session, watched(result):
        session.add(["."])
        before = session.check()
        done = mending.mend(session, unsafe)
        announced = done.diff()
        done.write()
    return done, before, announced


def checked_again(config: Config, jobs: int, unsafe: bool, before: Sequence[Diagnostic], result: Result) -> None:
    """What a run over the written files finds."""
    with Session(config, jobs) as session:
        session.add(["."])
        found = session.check()
    refused = {note.partition(" ")[0] for note in result.notes}
    for d in found:
        if mending.fixable(d, unsafe) and f"{d.filename}:{d.row}:" not in refused:
            result.problems.append(f"left to fix: {d.filename}:{d.row} {d.code} {d.fix and d.fix.message}")
        if d.code == "TML999":
            result.problems.append(f"{d.filename}: {d.message}")
    old = kinds(before)
    result.appeared = [f"{f} {c} {old[f, c]}->{n}" for (f, c), n in kinds(found).items() if n > old[f, c]]


def git_agrees(old: dict[Path, bytes], root: Path, announced: str, result: Result) -> None:
    """The difference, applied by git to the old files, gives the new ones."""
    changed = [path for path in old if path.suffix == ".py" and path.read_bytes() != old[path]]
    with tempfile.TemporaryDirectory() as scratch:
        for path in changed:
            copy = Path(scratch, path.relative_to(root))
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(old[path])
        if changed:
            command = ["git", "apply", "-p0", "--exclude=*.ipynb*", "--whitespace=nowarn"]
            environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(Path(scratch).parent)}
            run = subprocess.run(command, input=announced.encode(), cwd=scratch, capture_output=True, env=environment)
            if run.returncode:
                result.problems.append(f"git apply: {run.stderr.decode()[-300:]}")
        for path in changed:
            if Path(scratch, path.relative_to(root)).read_bytes() != path.read_bytes():
                result.problems.append(f"{path.relative_to(root)}: another text than announced")


def held_to_it(folder: Path, root: Path, arguments: argparse.Namespace) -> Result:
    """Mend a copy of the folder in `root` and look at all of it."""
    result = Result(folder.name)
    old = copied(folder, root)
    result.files, result.lines = len(old), lines(path for path in old if path.suffix == ".py")
    config = Config(select=() if arguments.hints_off else ("ALL",))
    here, started = Path.cwd(), time.process_time()
    os.chdir(root)
    try:
        done, before, announced = mended(config, arguments.jobs, not arguments.safe, result)
        result.cpu = time.process_time() - started
        result.codes, result.notes = done.codes, done.notes
        checked_again(config, arguments.jobs, not arguments.safe, before, result)
    finally:
        os.chdir(here)
    written = {str(root / path): text for path, text in done.after.items()}
    for path, raw in old.items():
        now, text = path.read_bytes(), written.get(str(path))
        result.changed += now != raw
        if now != raw and (text is None or text.encode(text.data) != now):
            result.problems.append(f"{path.relative_to(root)}: not what was to be written")
        if now != raw and path.suffix == ".py" and compiles(raw) and not compiles(now):
            result.problems.append(f"{path.relative_to(root)}: no longer compiles")
    if {path for path in root.rglob("*") if path.is_file()} != set(old):
        result.problems.append("files came or went")
    git_agrees(old, root, announced, result)
    if arguments.keep:
        (arguments.keep / f"{folder.name}.diff").write_text(announced, encoding="utf-8", errors="surrogateescape")
    return result


def told(result: Result) -> str:
    """One line of the table."""
    return (
        f"{result.name:32} {result.files:5} files {result.lines:8} lines {result.cpu:7.1f} CPU-s "
        f"{result.codes.total():4} fixes in {result.changed:3} files  {listed(result.codes)}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Mend copies of whole repositories and look at what came of it.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--safe", action="store_true", help="only the fixes that --fix alone makes")
    parser.add_argument("--hints-off", action="store_true", help="only findings that a run shows by default")
    parser.add_argument("--keep", type=Path, help="leave the mended copies and FOLDER.diff here")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    results = []
    for folder in arguments.folders:
        with contextlib.ExitStack() as stack:
            if arguments.keep:
                root = arguments.keep.resolve() / folder.name
                shutil.rmtree(root, ignore_errors=True)
                root.mkdir(parents=True)
            else:
                root = Path(stack.enter_context(tempfile.TemporaryDirectory())).resolve()
            results.append(held_to_it(folder.resolve(), root, arguments))
        print(told(results[-1]), flush=True)
        for title in ("problems", "notes", "appeared"):
            for line in getattr(results[-1], title):
                print(f"    {title}: {line}", flush=True)
    files, count = sum(r.files for r in results), sum(r.lines for r in results)
    fixes, changed = sum(r.codes.total() for r in results), sum(r.changed for r in results)
    print(f"{len(results)} folders, {files} files, {count} lines, {fixes} fixes in {changed} files")
    return int(any(result.problems for result in results))


if __name__ == "__main__":
    raise SystemExit(main())
