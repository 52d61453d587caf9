"""What the benchmarks share: CPU seconds, wall time and peak memory of a command; the command of a cold run; the Python
files of a folder; codes in a line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

SKIPPED = {"site-packages", ".git", "__pycache__", "node_modules", ".venv", "venv", ".tox", "build", "dist", "_build"}
STOPPED = 124
QUIET = ("--exit-zero", "--quiet")


@dataclass(frozen=True)
class Run:
    """One run of a command with its children: seconds, peak of its largest process, exit code (124: stopped)."""

    cpu: float
    wall: float
    mebibytes: float
    code: int


def timed(
    command: Sequence[str],
    seconds: float,
    stdout: IO[str] | int = subprocess.DEVNULL,
    stderr: IO[str] | int = subprocess.DEVNULL,
    prepare: Callable[[], None] | None = None,
) -> Run:
    """Run a command to its end or for so many seconds of wall time. `prepare` runs in the new process before it.

    wait4 tells the CPU seconds of this process and of the children that it waited for, and of none else."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=stdout, stderr=stderr, preexec_fn=prepare, start_new_session=True)
    deadline = started + seconds
    stopped = False
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        if not stopped and time.perf_counter() > deadline:
            os.killpg(process.pid, signal.SIGKILL)
            stopped = True
        time.sleep(0.002)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    scale = 2**20 if sys.platform == "darwin" else 2**10
    code = STOPPED if stopped else process.returncode
    return Run(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / scale, code)


def check(jobs: int, *options: str) -> tuple[str, ...]:
    """The command of a cold run that heeds no settings of the tree; the paths are to follow."""
    return sys.executable, "-m", "torchmemlint", "check", "--isolated", "--no-cache", "--jobs", str(jobs), *options


def python_files(folder: Path, *more: str) -> list[Path]:
    """The .py files below a folder, and those with `more` endings; those of caches and environments left out."""
    if folder.is_file():
        return [folder]
    found = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        found += [Path(here, name) for name in sorted(names) if name.endswith((".py", *more))]
    return found


def lines(files: Iterable[Path]) -> int:
    """How many lines the files have together."""
    return sum(path.read_bytes().count(b"\n") for path in files if path.is_file())


def listed(codes: Counter[str]) -> str:
    """How often each code occurs, in a line."""
    return " ".join(f"{code}:{number}" for code, number in sorted(codes.items())) or "none"
