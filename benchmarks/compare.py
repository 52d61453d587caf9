"""One run over one tree: CPU seconds, wall time and lines per CPU second of torchmemlint and of other tools.

    python benchmarks/compare.py FOLDER [--repeat 3] [--jobs 2] [--bin DIR] [--flake8 FILE] [--only NAME...]

A tool that is not installed is named as missing. Figures are medians of the runs; a tool's start-up is in them."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import QUIET, Run, check, lines, python_files, timed

AST = (
    "import ast, sys, pathlib\nfor p in sys.argv[1:]:\n"
    "    try: ast.parse(pathlib.Path(p).read_bytes())\n    except SyntaxError: pass"
)
LIBCST = (
    "import sys, pathlib, libcst\nfor p in sys.argv[1:]:\n"
    "    try: libcst.parse_module(pathlib.Path(p).read_bytes())\n    except libcst.ParserSyntaxError: pass"
)


@dataclass(frozen=True)
class Tool:
    """What is run: a name, the command without the paths, whether it takes single files, the package it comes from."""

    name: str
    command: tuple[str, ...]
    files: bool = False

    @property
    def missing(self) -> bool:
        """Is its program not there?"""
        return not Path(self.command[0]).exists()


def tools(peers: Path, flake8: Path, jobs: int) -> list[Tool]:
    """The tools in the order of the table; each has its caches off and settings of the tree ignored where it can."""
    python = sys.executable
    return [
        Tool("torchmemlint, 1 job", check(1, *QUIET)),
        Tool(f"torchmemlint, {jobs} jobs", check(jobs, *QUIET)),
        Tool("torch-preflight", (str(peers / "torch-preflight"), "check")),
        Tool("TorchFix", (str(peers / "torchfix"), "--select", "ALL")),
        Tool("flake8 (pyflakes)", (str(flake8), "--isolated", "-j1", "--select", "F", "--exit-zero")),
        Tool("fixit", (str(peers / "fixit"), "--quiet", "lint")),
        Tool("pylint", (str(peers / "pylint"), "--rcfile=/dev/null", "-j1", "--exit-zero"), files=True),
        Tool("ruff", (str(peers / "ruff"), "check", "--isolated", "--no-cache", "--quiet", "--exit-zero")),
        Tool("ast.parse alone", (python, "-c", AST), files=True),
        Tool("libcst.parse_module alone", (python, "-c", LIBCST), files=True),
    ]


def median(runs: Sequence[Run]) -> Run:
    """Medians of what several runs cost; the worst exit code."""
    return Run(
        statistics.median(r.cpu for r in runs),
        statistics.median(r.wall for r in runs),
        statistics.median(r.mebibytes for r in runs),
        max((r.code for r in runs), key=abs),
    )


def measured(tool: Tool, folder: Path, repeat: int, seconds: float) -> Run:
    """Run a tool over the folder so many times, each within the bound of wall time."""
    targets = [str(path) for path in python_files(folder)] if tool.files else [str(folder)]
    return median([timed([*tool.command, *targets], seconds) for _ in range(repeat)])


def row(tool: Tool, run: Run, total: int, base: Run) -> str:
    """A line of the table; ratios say how many times the CPU seconds of the first row it took."""
    note = " (stopped: too slow)" if run.code == 124 else ""
    return (
        f"| {tool.name}{note} | {run.cpu:.2f} | {run.wall:.2f} | {total / run.cpu:,.0f} | {run.cpu / base.cpu:.2f} "
        f"| {run.mebibytes:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare torchmemlint with other tools over one tree.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=600, help="wall time for one run of one tool")
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent, help="where the other tools are")
    parser.add_argument("--flake8", type=Path, help="a flake8 without plugins: TorchFix would run in each other one")
    parser.add_argument("--only", nargs="*", default=[], help="only tools whose name holds one of these words")
    arguments = parser.parse_args()
    files = python_files(arguments.folder)
    total = lines(files)
    print(f"{len(files)} files, {total:,} lines, medians of {arguments.repeat}\n")
    print("| | CPU s | wall s | lines per CPU s | × CPU of the first row | peak MiB |\n|---|---|---|---|---|---|")
    base: Run | None = None
    for tool in tools(arguments.bin, arguments.flake8 or arguments.bin / "flake8", arguments.jobs):
        if arguments.only and not any(word in tool.name for word in arguments.only):
            continue
        if tool.missing:
            print(f"| {tool.name} | not installed | | | | |", flush=True)
            continue
        run = measured(tool, arguments.folder, arguments.repeat, arguments.seconds)
        base = base or run
        print(row(tool, run, total, base), flush=True)


if __name__ == "__main__":
    main()
