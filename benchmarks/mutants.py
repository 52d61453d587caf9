"""Mutated programs: fixtures with pieces deleted, doubled, swapped, cut off or nested deeply, by seed.

    python benchmarks/mutants.py --first 0 --count 1000

checks and fixes each in this process; prints the seeds where an exception came out, TML999 was reported, or fixing
spoilt a file that could be parsed. Exits with 1 if there are any."""

from __future__ import annotations

import argparse
import ast
import random
import traceback
from collections.abc import Callable
from pathlib import Path

from torchmemlint.api import check_source, fix_source
from torchmemlint.config import Config
from torchmemlint.fixes import rounds

ROOT = Path(__file__).parent.parent
CONFIG = Config(hints=True)
WORDS = (
    "loss model self None return ( ) [ ] : , = += yield await lambda *x **k with del global 0 'a' äöü \\ # \t".split(
        " "
    )
)
Mutation = Callable[[random.Random, str], str]


def programs() -> list[Path]:
    """What is mutated: fixtures, look-alikes and disguises."""
    folders = [ROOT / "fixtures", ROOT / "tests" / "lookalikes", ROOT / "tests" / "disguises"]
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def delete_lines(rng: random.Random, text: str) -> str:
    rows = text.splitlines(keepends=True)
    start = rng.randrange(len(rows))
    del rows[start : start + rng.randint(1, 4)]
    return "".join(rows)


def double_lines(rng: random.Random, text: str) -> str:
    rows = text.splitlines(keepends=True)
    start, end = sorted(rng.randrange(len(rows) + 1) for _ in range(2))
    at = rng.randrange(len(rows))
    return "".join(rows[:at] + rows[start:end] + rows[at:])


def swap_lines(rng: random.Random, text: str) -> str:
    rows = text.splitlines(keepends=True)
    one, other = rng.randrange(len(rows)), rng.randrange(len(rows))
    rows[one], rows[other] = rows[other], rows[one]
    return "".join(rows)


def cut(rng: random.Random, text: str) -> str:
    return text[: rng.randrange(len(text))]


def delete_characters(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text))
    return text[:at] + text[at + rng.randint(1, 12) :]


def insert_word(rng: random.Random, text: str) -> str:
    at = rng.choice([i for i, c in enumerate(text) if c in " (\n"] or [0])
    return f"{text[: at + 1]}{rng.choice(WORDS)} {text[at + 1 :]}"


def exchange_names(rng: random.Random, text: str) -> str:
    """One name of the program in the place of another, everywhere or once."""
    names = sorted({n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)})
    if not names:
        return text
    old, new = rng.choice(names), rng.choice(names)
    return text.replace(old, new, rng.choice([-1, 1, 2]))


def exchange_expressions(rng: random.Random, text: str) -> str:
    """One expression in the place of another: what parses, and means something never meant."""
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.expr)]
    parts = [p for p in (ast.get_source_segment(text, rng.choice(nodes)) for _ in range(2)) if p]
    return text.replace(parts[0], f"({parts[-1]})", 1) if parts else text


def nest_blocks(rng: random.Random, text: str) -> str:
    """A function's body under many ifs, loops, withs and tries."""
    depth = rng.choice([5, 20, 60])
    rows = ["def nested(x):"]
    rows += [" " * (i + 1) + rng.choice(["if x:", "for y in x:", "with x:", "while x:"]) for i in range(depth)]
    rows += [" " * (depth + 1) + "x = model(x)", " " * (depth + 1) + "kept.append(x)"]
    return text + "\n" + "\n".join(rows) + "\n"


def nest_expressions(rng: random.Random, text: str) -> str:
    depth = rng.choice([10, 40, 80])
    shape = rng.choice(["torch.relu({})", "[{}]", "-({})", "(lambda: {})", "x.view({})", "({} + x)", "x[{}]"])
    inner = "x"
    for _ in range(depth):
        inner = shape.format(inner)
    return f"{text}\n\ndef deep(x, model):\n    y = {inner}\n    return [model(y)]\n"


def many_branches(rng: random.Random, text: str) -> str:
    count = rng.choice([50, 300])
    rows = [f"    {'el' if i else ''}if x == {i}:\n        y = model(x) + {i}\n" for i in range(count)]
    return f"{text}\n\ndef branches(x, model):\n    y = 0\n{''.join(rows)}    return y\n"


def long_chain(rng: random.Random, text: str) -> str:
    count = rng.choice([30, 150])
    return f"{text}\n\ndef chain(x, model):\n    return model(x){'.relu()' * count}{' + x' * count}\n"


MUTATIONS: tuple[Mutation, ...] = (
    delete_lines, double_lines, swap_lines, cut, delete_characters, insert_word, exchange_names, exchange_expressions,
    nest_blocks, nest_expressions, many_branches, long_chain,
)  # fmt: skip
MEANT_TO_PARSE = (delete_lines, double_lines, exchange_names, exchange_expressions)


def mutant(seed: int) -> tuple[str, str]:
    """The program of that seed and what was done to it."""
    rng = random.Random(seed)
    path = rng.choice(programs())
    text, done = path.read_text(encoding="utf-8"), [path.name]
    for _ in range(rng.randint(1, 3)):
        chosen = rng.choice(MUTATIONS if rng.random() < 0.6 else MEANT_TO_PARSE)
        if text and (parses(text) or chosen not in (exchange_names, exchange_expressions)):
            text = chosen(rng, text)
            done.append(chosen.__name__)
    return text, " ".join(done)


def parses(text: str) -> bool:
    """Is it Python?"""
    return rounds.parses(text.encode())


def trouble(text: str) -> str | None:
    """What goes wrong when the text is checked and fixed; None if nothing does."""
    try:
        found = check_source(text, "mutant.py", CONFIG)
        fixed = fix_source(text, "mutant.py", CONFIG, unsafe=True) if any(d.fix for d in found) else text
    except Exception:
        return traceback.format_exc()
    internal = [d.message for d in found if d.code == "TML999"]
    if internal:
        return internal[0]
    if parses(text) and not parses(fixed):
        return f"the fixed file cannot be parsed:\n{fixed}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description="Check and fix mutated programs.")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    arguments = parser.parse_args()
    failed = good = 0
    for seed in range(arguments.first, arguments.first + arguments.count):
        text, done = mutant(seed)
        good += parses(text)
        found = trouble(text)
        if found is not None:
            failed += 1
            print(f"seed {seed} ({done}): {found[-1500:]}", flush=True)
    print(f"{arguments.count} mutants, {good} of which parse: {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
