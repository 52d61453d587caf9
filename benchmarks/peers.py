"""What torchmemlint and other tools say of the same lines: the data of docs/comparison.md.

    python benchmarks/peers.py --bin DIR [--corpus FOLDER] > docs/comparison.toml

DIR holds the other tools (requirements.txt). Lines: those that the fixtures mark, each proven by `verify`; with a
corpus (the repositories of docs/precision.toml at their revisions, as owner+name) the lines of the findings argued
right there. Look-alikes: tests/lookalikes/, where there is nothing to report. Probes: one program, put before each tool
in several ways."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from measure import python_files

from torchmemlint.dev import precision
from torchmemlint.dev.examples import EXPECTED

ROOT = Path(__file__).resolve().parent.parent
LINE = re.compile(r"^(?P<file>[^:\n]+?)[:@](?P<line>\d+):\d+:? (?P<code>\w+)", re.M)
Found = tuple[str, int, str]  # file, line, code


@dataclass(frozen=True)
class Tool:
    """A program, its options for paths and for standard input, its codes that speak of memory, and what it says of the
    probe's program."""

    name: str
    command: tuple[str, ...]
    memory: str  # expression over codes; those that its own documentation explains by memory
    probe: str
    all: tuple[str, ...] = ()  # options that show what is off by default because it is small
    stdin: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()

    def run(self, paths: Iterable[str], folder: Path, text: bytes | None = None) -> subprocess.CompletedProcess[str]:
        """Run it in a folder."""
        command = [*self.command, *(self.stdin if text is not None else ()), *paths]
        done = subprocess.run(command, cwd=folder, input=text, capture_output=True, timeout=3000, check=False)
        return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())

    def found(self, paths: Iterable[str], folder: Path) -> list[Found]:
        """What it reports."""
        output = self.run(paths, folder).stdout
        if output.lstrip().startswith("{"):
            return [(d["path"], d["line"], d["code"]) for d in json.loads(output)["diagnostics"]]
        return [(m["file"], int(m["line"]), m["code"]) for m in LINE.finditer(output)]


def tools(programs: Path) -> list[Tool]:
    """torchmemlint and the others, all their rules switched on."""

    def at(name: str, *options: str) -> tuple[str, ...]:
        return (str(programs / name), *options)

    own = (sys.executable, "-m", "torchmemlint", "check", "--isolated", "--no-cache", "--output-format", "concise")
    ruff = at("ruff", "check", "--isolated", "--no-cache", "--quiet", "--select", "ALL", "--output-format", "concise")
    unsafe = ("--fix", "--unsafe-fixes")
    return [
        Tool("torchmemlint", own, "TML[1-6]", "TML101", ("--select", "ALL"), fix=unsafe),
        Tool("torch-preflight", at("torch-preflight", "check", "-j1", "-f", "json"), "TG001|TG002|TG010", "TG002",
             fix=("--fix",)),
        Tool("TorchFix", at("torchfix", "--select", "ALL"), "TOR003", "TOR102", fix=("--fix",)),
        Tool("flake8-bugbear", at("flake8", "--isolated", "-j1", "--select", "B,B9"), "B019", "B006"),
        Tool("ruff", ruff, "B019", "B006", fix=unsafe),
        Tool("pylint", at("pylint", "--rcfile=/dev/null", "-j1", "--score=n"), "W1518", "W0102",
             stdin=("--from-stdin",)),
    ]  # fmt: skip


def version(tool: Tool) -> str:
    """The installed version, asked of the Python beside the program."""
    python = Path(tool.command[0]).with_name("python")
    code = f"from importlib.metadata import version; print(version({tool.name!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


# -- lines -------------------------------------------------------------------------------------------------------------


def marked() -> set[tuple[str, int]]:
    """The lines of the fixtures that cost memory."""
    files = [path for path in python_files(ROOT / "fixtures") if not path.name.startswith("ok_")]
    return {
        (str(path.relative_to(ROOT)), number)
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if EXPECTED.search(line)
    }


def lookalikes() -> list[str]:
    """The files in which there is nothing to report."""
    return [str(path.relative_to(ROOT)) for path in python_files(ROOT / "tests" / "lookalikes")]


def argued() -> set[tuple[str, int]]:
    """The lines of docs/precision.toml whose finding is right, by owner+name/file."""
    data = precision.load(ROOT / precision.DATA)
    return {(f"{folder}/{file}", row) for (folder, file, row, _), a in data.keys().items() if a.verdict == "right"}


def judged(tool: Tool, lines: set[tuple[str, int]], found: list[Found]) -> dict[str, object]:
    """On how many of the lines a tool speaks of memory, and what else it says there."""
    here = [(file, row, code) for file, row, code in found if (file, row) in lines]
    memory = {(file, row) for file, row, code in here if re.match(tool.memory, code)}
    others = counted(code for _, _, code in here if not re.match(tool.memory, code))
    return {"lines": len(lines), "hits": len(memory), "others": others}


def on_lines(tool: Tool, corpus: Path | None) -> Iterator[tuple[str, dict[str, object]]]:
    """The tool's rows: the fixtures, look-alikes, and public code where there is a corpus."""
    lines = marked()
    yield "fixtures", judged(tool, lines, tool.found([*tool.all, *sorted({file for file, _ in lines})], ROOT))
    silent = [code for _, _, code in tool.found(lookalikes(), ROOT) if re.match(tool.memory, code)]
    yield "lookalikes", {"files": len(lookalikes()), "findings": len(silent), "codes": counted(silent)}
    if corpus is not None:
        right = argued()
        found = tool.found(sorted({file for file, _ in right}), corpus)
        more = sum((file, row) not in right for file, row, code in found if re.match(tool.memory, code))
        yield "public", {**judged(tool, right, found), "elsewhere": more}


def counted(codes: Iterable[str]) -> str:
    """How often each code occurs."""
    return ", ".join(f"{code} {count}" for code, count in sorted(Counter(codes).items()))


# -- probes ------------------------------------------------------------------------------------------------------------

PROGRAM = """\
import torch
from torch import nn


def evaluate(loader, seen=[]):
    model = nn.Linear(256, 10)
    model.load_state_dict(torch.load("weights.pt"))
    losses = []
    for images, labels in loader:
        losses.append(nn.functional.cross_entropy(model(images), labels))
    return torch.stack(losses).mean().item()
"""
Probe = Callable[[Tool, Path], bool]


def says(tool: Tool, folder: Path, data: bytes = PROGRAM.encode(), name: str = "a.py") -> bool:
    """Is the program's finding reported when the file holds `data`?"""
    (folder / name).write_bytes(data)
    return bool(re.search(tool.probe, tool.run([name], folder).stdout))


def notebook(tool: Tool, folder: Path) -> bool:
    cell = {"cell_type": "code", "source": PROGRAM, "outputs": [], "execution_count": None, "metadata": {}}
    shell = {**cell, "source": "!pip install torch\n%matplotlib inline"}
    book = {"cells": [shell, cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    return says(tool, folder, json.dumps(book).encode(), "a.ipynb")


def standard_input(tool: Tool, folder: Path) -> bool:
    last = "a.py" if tool.stdin else "-"
    return bool(re.search(tool.probe, tool.run([last], folder, PROGRAM.encode()).stdout))


def latin_1(tool: Tool, folder: Path) -> bool:
    return says(tool, folder, f"# coding: latin-1\nNAME = 'é'\n{PROGRAM}".encode("latin-1"))


def long_sum(tool: Tool, folder: Path) -> bool:
    return says(tool, folder, f"{PROGRAM}\n\nTOTAL = {' + '.join(['1'] * 1000)}\n".encode())


def beside_a_broken_file(tool: Tool, folder: Path) -> bool:
    (folder / "broken.py").write_text("import torch\ndef f(:\n", encoding="utf-8")
    (folder / "a.py").write_text(PROGRAM, encoding="utf-8")
    done = tool.run(["."], folder)
    return bool(re.search(tool.probe, done.stdout)) and "broken" in done.stdout


def exit_code(tool: Tool, folder: Path) -> bool:
    (folder / "a.py").write_text(PROGRAM, encoding="utf-8")
    return tool.run(["a.py"], folder).returncode != 0


def fixed_bytes(tool: Tool, folder: Path) -> bool:
    """Does a fix keep line ends and the byte order mark?"""
    before = ("\ufeff" + PROGRAM.replace("\n", "\r\n")).encode()
    (folder / "a.py").write_bytes(before)
    if tool.fix:
        tool.run([*tool.fix, "a.py"], folder)
    after = (folder / "a.py").read_bytes()
    return after != before and after.startswith(b"\xef\xbb\xbf") and b"\n" not in after.replace(b"\r\n", b"")


PROBES: dict[str, Probe] = {
    "finds it in a notebook with magics": notebook,
    "reads standard input": standard_input,
    "reads a file in Latin-1": latin_1,
    "goes on past a sum of 1,000 terms": long_sum,
    "names a broken file and checks the others": beside_a_broken_file,
    "exits with another code than 0": exit_code,
    "fixes keep CRLF and the byte order mark": fixed_bytes,
}


def probed(tool: Tool) -> list[str]:
    """The probes that the tool passes. Raises ValueError when it finds nothing in the plain program."""
    with tempfile.TemporaryDirectory() as folder:
        if not says(tool, Path(folder)):
            raise ValueError(f"{tool.name} finds nothing in the program that it is tried with")
    passed = []
    for name, probe in PROBES.items():
        with tempfile.TemporaryDirectory() as folder:
            passed += [name] if probe(tool, Path(folder)) else []
    return passed


# -- output ------------------------------------------------------------------------------------------------------------


def table(tool: Tool, corpus: Path | None) -> str:
    """A tool's entry."""
    values = {
        "name": tool.name, "version": version(tool), "memory": tool.memory, "probes": probed(tool),
        "fixes": bool(tool.fix),
    }  # fmt: skip
    rows = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    for name, row in on_lines(tool, corpus):
        inner = ", ".join(f"{key} = {json.dumps(value)}" for key, value in row.items())
        rows.append(f"{name} = {{ {inner} }}")
    return "\n".join(["[[tool]]", *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare what torchmemlint and other tools find.")
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent, help="where the other tools are")
    parser.add_argument("--corpus", type=Path, help="the repositories of docs/precision.toml")
    parser.add_argument("--only", nargs="*", default=[], help="only these tools")
    arguments = parser.parse_args()
    print("# Made by benchmarks/peers.py; docs/comparison.md is made from it.\n")
    print(f"date = {date.today().isoformat()}\nprobes = {json.dumps(list(PROBES))}")
    for tool in tools(arguments.bin.resolve()):
        if not arguments.only or tool.name in arguments.only:
            print(f"\n{table(tool, arguments.corpus and arguments.corpus.resolve())}", flush=True)


if __name__ == "__main__":
    main()
