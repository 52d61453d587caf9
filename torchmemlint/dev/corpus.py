"""Findings on real repositories, recorded and compared: how a change of the analysis meets code in use."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click

SECONDS_PER_REPOSITORY = 1800


@dataclass(frozen=True, order=True)
class Record:
    """A finding's place and text; `file` is relative to the repository."""

    repo: str
    file: str
    line: int
    code: str
    severity: str
    message: str


def scan(folder: Path, options: Iterable[str] = ()) -> Iterator[Record]:
    """Check each repository (direct subfolder) with the command line, ignoring its configuration. Raises
    ClickException when a run fails."""
    for repository in sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith(".")):
        yield from sorted(_check(repository, list(options)))


def _check(repository: Path, options: list[str]) -> Iterator[Record]:
    command = [sys.executable, "-m", "torchmemlint", "check", "--isolated", "--no-cache", "--exit-zero"]
    command += ["--output-format", "json", *options, "."]
    run = subprocess.run(
        command, cwd=repository, capture_output=True, text=True, timeout=SECONDS_PER_REPOSITORY, check=False
    )
    if run.returncode:
        raise click.ClickException(f"check failed on {repository.name}: {run.stderr.strip()[-2000:]}")
    for item in json.loads(run.stdout):
        path = Path(item["filename"])
        relative = path.relative_to(repository.resolve()) if path.is_absolute() else path
        yield Record(
            repository.name,
            relative.as_posix(),
            item["location"]["row"],
            item["code"],
            item["severity"],
            item["message"],
        )


def dump(records: Iterable[Record]) -> str:
    """JSON lines, one finding a line."""
    return "".join(json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in records)


def load(text: str) -> list[Record]:
    """The records of `dump`."""
    return [Record(**json.loads(line)) for line in text.splitlines() if line.strip()]


def difference(old: Iterable[Record], new: Iterable[Record]) -> tuple[list[Record], list[Record]]:
    """(added, removed), sorted; findings that occur several times count as often."""
    before, after = Counter(old), Counter(new)
    return sorted((after - before).elements()), sorted((before - after).elements())


def totals(records: Iterable[Record]) -> str:
    """How often each code was reported, one a line."""
    counts = Counter(record.code for record in records)
    return "\n".join(f"{code} {count}" for code, count in sorted(counts.items()))


def line(record: Record) -> str:
    """A record as one line of text."""
    return f"{record.repo}/{record.file}:{record.line}: {record.code} [{record.severity}] {record.message}"
