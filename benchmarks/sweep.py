"""Runs `check` over folders, one process after another with bounds of time and memory, and counts what comes out.

    python benchmarks/sweep.py FOLDER... [--seconds 600] [--gigabytes 6] [--hints] [--loud-is-wrong] [--as-torch]

A row a folder: files, lines, CPU seconds, peak memory, findings by code. Exits with 1 where a run crashed or was
stopped, or reported TML999; with --loud-is-wrong (folders free of torch) also where there is any finding but TML000.
--as-torch checks copies that import torch, so that no file is passed over because it does not concern us."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from measure import check, lines, listed, python_files, timed


@dataclass
class Swept:
    """What one folder gave."""

    folder: Path
    files: int
    lines: int
    cpu: float
    mebibytes: float
    code: int
    codes: Counter[str] = field(default_factory=Counter)
    errors: str = ""
    internal: list[str] = field(default_factory=list)

    def failed(self, loud_is_wrong: bool) -> bool:
        """Did the run crash, or report what it must not?"""
        loud = loud_is_wrong and any(code != "TML000" for code in self.codes)
        return self.code not in (0, 1) or bool(self.internal) or loud


def command(folder: Path, jobs: int, hints: bool) -> list[str]:
    """The command line that checks a folder afresh, whatever settings lie in it."""
    more = ["--extend-select", "ALL"] if hints else []
    return [*check(jobs, "--output-format", "json", *more), str(folder)]


def sweep(folder: Path, arguments: argparse.Namespace) -> Swept:
    """Check one folder within the bounds."""
    limit = int(arguments.gigabytes * 2**30)

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    files = python_files(folder)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, tempfile.TemporaryFile("w+", encoding="utf-8") as err:
        run = timed(
            command(folder, arguments.jobs, arguments.hints), arguments.seconds, stdout=out, stderr=err, prepare=bounded
        )
        out.seek(0)
        err.seek(0)
        result = Swept(folder, len(files), lines(files), run.cpu, run.mebibytes, run.code, errors=err.read()[-2000:])
        if run.code in (0, 1):
            _count(result, out.read())
    return result


def _count(result: Swept, text: str) -> None:
    for found in json.loads(text or "[]"):
        result.codes[found["code"]] += 1
        if found["code"] == "TML999":
            result.internal.append(f"{found['filename']}:{found['location']['row']}: {found['message']}")


def as_torch(folder: Path, target: Path) -> Path:
    """Copy a folder's files, each with an import of torch at its end."""
    for path in python_files(folder):
        copy = target / folder.name / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes() + b"\nimport torch\n")
    return target / folder.name


def told(result: Swept) -> str:
    """One line of the table."""
    return (
        f"{result.folder.name:24} {result.files:6} files {result.lines:9} lines {result.cpu:8.1f} CPU-s "
        f"{result.mebibytes:6.0f} MiB  exit {result.code}  {listed(result.codes)}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Check folders and count crashes and findings.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, default=600, help="wall time for one folder")
    parser.add_argument("--gigabytes", type=float, default=6, help="address space of one process")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--hints", action="store_true", help="show the hints as well")
    parser.add_argument("--as-torch", action="store_true", help="check copies that import torch")
    parser.add_argument("--loud-is-wrong", action="store_true", help="any finding but TML000 fails")
    arguments = parser.parse_args()
    results = []
    for folder in arguments.folders:
        with tempfile.TemporaryDirectory() as copies:
            target = as_torch(folder, Path(copies)) if arguments.as_torch else folder
            results.append(sweep(target, arguments))
        print(told(results[-1]), flush=True)
        for line in results[-1].internal:
            print("   ", line)
        if results[-1].errors:
            print(subprocess.list2cmdline(command(folder, arguments.jobs, arguments.hints)), results[-1].errors)
    print(f"{sum(r.files for r in results)} files, {sum(r.lines for r in results)} lines")
    return int(any(result.failed(arguments.loud_is_wrong) for result in results))


if __name__ == "__main__":
    raise SystemExit(main())
