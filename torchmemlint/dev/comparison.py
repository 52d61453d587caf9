"""The page that compares torchmemlint with other tools, made of what benchmarks/peers.py measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchmemlint.knowledge.toml import read_toml

DATA = Path("docs") / "comparison.toml"
Row = dict[str, Any]
NONE = ("(?!)", "none")  # an expression that matches no code, and how it is shown

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
counted apart."""

FIXTURES = """\
## Lines that cost memory

The {lines} lines that the fixtures mark, each of whose costs `torchmemlint verify` has measured. They are
torchmemlint's own tests, so its figure is what the tests demand; the others' show how far the tools overlap. *In
look-alikes*: findings by codes on memory in the {files} programs of `tests/lookalikes`, in which nothing is wrong; some
of them were written because an earlier torchmemlint, or another tool, took them for mistakes."""

PUBLIC = """\
## Public code

The {lines} lines of the findings in [Precision](precision.md) that were argued to be right. They are torchmemlint's own
findings, so the table does not tell what it misses. The files with these lines are given alone, without the rest of
their repositories; torchmemlint without its hints. *Elsewhere*: findings by codes on memory on other lines of these
files, which nobody has judged except for torchmemlint's."""

PROBES = """\
## In odd places

One program in which each tool finds something, put before it in several ways. fixit finds nothing in it and is left
out."""

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
        probes(data["probes"], [tool for tool in tools if "probes" in tool]),
        REST,
    ]
    return "\n\n".join(parts) + "\n"


def short(data: Row) -> str:
    """The README's sentences."""
    tools: list[Row] = data["tool"]
    others = ", ".join(f"{tool['name']} {tool['version']} {tool['fixtures']['hits']}" for tool in tools[1:])
    public = ", ".join(f"{tool['name']} {tool['public']['hits']}" for tool in tools[1:])
    lines, argued = tools[0]["fixtures"]["lines"], tools[0]["public"]["lines"]
    return (
        f"Of the {lines} lines that the fixtures mark, each proven by `verify`, other tools say so on {data['date']}:\n"
        f"{others}.\n"
        f"Of the {argued} lines of public code whose findings were argued to be right: {public}."
    )


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
    rows = [[name, *("yes" if name in tool["probes"] else "no" for tool in tools)] for name in names]
    return _table(["", *(tool["name"] for tool in tools)], rows)


def _name(tool: Row) -> tuple[str, str]:
    memory = tool["memory"].replace("|", ", ")
    return f"{tool['name']} {tool['version']}", NONE[1] if tool["memory"] == NONE[0] else memory


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
