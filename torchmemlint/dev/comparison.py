"""The page that compares torchmemlint with other tools, made of what benchmarks/peers.py measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchmemlint.knowledge.toml import read_toml

DATA = Path("docs") / "comparison.toml"
Row = dict[str, Any]

INTRO = """\
# Comparison

What torchmemlint and other tools say of the same programs, measured on {date} with all their rules switched on. Made
from comparison.toml by `python -m torchmemlint.dev docs`; the data are made by `benchmarks/peers.py`, which needs the
tools of `benchmarks/requirements.txt` in an environment of their own:

<!-- not run: needs the other tools and the repositories -->
```sh
python benchmarks/peers.py --bin DIR --corpus FOLDER > docs/comparison.toml
```

Only torch-preflight aims at the same mistakes, among others. The other tools look for other things (deprecated calls,
security, style, Python pitfalls): that they find little here is no fault of theirs. Use them beside torchmemlint.
*Codes on memory* are those that the tool's own documentation explains by memory; what else it says of the same lines is
counted apart. All counts are those of the measurement: fixtures, look-alikes and arguments change."""

FIXTURES = """\
## Lines that cost memory

The {lines} lines that the fixtures marked then, each of whose costs `torchmemlint verify` has measured. They are
torchmemlint's own tests, so its figure is what the tests demand; the others' show how far the tools overlap. *In
look-alikes*: findings by codes on memory in the {files} programs that `tests/lookalikes` had then, in which nothing is
wrong; some of them were written because an earlier torchmemlint, or another tool, took them for mistakes."""

PUBLIC = """\
## Public code

The {lines} lines of the findings in [Precision](precision.md) that had been argued to be right. They are torchmemlint's
own findings, so the table does not tell what it misses. The files with these lines are given alone, without the rest of
their repositories; torchmemlint without its hints. *Elsewhere*: findings by codes on memory on other lines of these
files, which nobody has judged except for torchmemlint's."""

PROBES = """\
## In odd places

One program in which each tool finds something, put before it in several ways. flake8 and pylint don't read notebooks
by themselves; nbQA brings the cells to them."""

REST = """\
## Time and memory

[Performance](performance.md) has the CPU seconds and the memory of the same tools over one tree.

## Together

- flake8 runs torchmemlint, flake8-bugbear and TorchFix in one process: [Editors](editors.md#flake8).
- `# noqa: TML101` is read by torchmemlint and left alone by ruff if `external = ["TML"]` stands in its settings."""


def load(path: Path) -> Row:
    """The data."""
    return read_toml(path)


def page(data: Row) -> str:
    """docs/comparison.md."""
    tools: list[Row] = data["tool"]
    first = tools[0]
    parts = [
        INTRO.format(date=data["date"]),
        FIXTURES.format(lines=first["fixtures"]["lines"], files=first["lookalikes"]["files"]),
        fixtures(tools),
        PUBLIC.format(lines=first["public"]["lines"]),
        public(tools),
        PROBES,
        probes(data["probes"], tools),
        REST,
    ]
    return "\n\n".join(parts) + "\n"


def short(data: Row) -> str:
    """The README's sentences."""
    first, others = data["tool"][0], data["tool"][1:]
    versions = ", ".join(f"{tool['name']} {tool['version']}" for tool in others)
    return (
        f"Measured on {data['date']} with {versions}:\n\n"
        f"- of the {first['fixtures']['lines']} lines that the fixtures marked then, each proven by `verify` to cost "
        f"memory, {_named(others, 'fixtures')};\n"
        f"- of the {first['public']['lines']} lines of public code whose findings were argued to be right, "
        f"{_named(others, 'public')}."
    )


def _named(tools: Sequence[Row], row: str) -> str:
    """How many of the lines each tool names: those that name some, then the others together."""
    some = [f"{tool['name']} names {tool[row]['hits']}" for tool in tools if tool[row]["hits"]]
    none = [tool["name"] for tool in tools if not tool[row]["hits"]]
    together = " and ".join(part for part in (", ".join(none[:-1]), *none[-1:]) if part)
    return ", ".join([*some, *([f"{together} none"] if none else [])])


def fixtures(tools: Sequence[Row]) -> str:
    """On how many of the marked lines each tool speaks of memory."""
    head = ["tool", "codes on memory", "lines found", "its other findings there", "in look-alikes"]
    return _table(head, [[*_name(t), _hits(t["fixtures"]), _others(t["fixtures"]), _silent(t)] for t in tools])


def public(tools: Sequence[Row]) -> str:
    """The same on public code."""
    head = ["tool", "codes on memory", "lines found", "its other findings there", "elsewhere"]
    rows = [[*_name(t), _hits(t["public"]), _others(t["public"]), str(t["public"]["elsewhere"])] for t in tools]
    return _table(head, rows)


def probes(names: Sequence[str], tools: Sequence[Row]) -> str:
    """Which tool passed which probe."""
    rows = [[name, *(_passed(name, tool) for tool in tools)] for name in names]
    return _table(["", *(tool["name"] for tool in tools)], rows)


def _passed(probe: str, tool: Row) -> str:
    if probe.startswith("fixes") and not tool["fixes"]:
        return "no fixes"
    return "yes" if probe in tool["probes"] else "no"


def _name(tool: Row) -> tuple[str, str]:
    return f"{tool['name']} {tool['version']}", tool["memory"].replace("|", ", ")


def _hits(row: Row) -> str:
    return f"{row['hits']} of {row['lines']}"


def _others(row: Row) -> str:
    """Few codes by name, many by their number: all rules of a style checker say much of any line."""
    codes = row["others"].split(", ") if row["others"] else []
    total = sum(int(code.split()[1]) for code in codes)
    return str(total) if not codes or len(codes) > 6 else f"{total} ({row['others']})"


def _silent(tool: Row) -> str:
    row = tool["lookalikes"]
    return f"{row['findings']} ({row['codes']})" if row["codes"] else str(row["findings"])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))
