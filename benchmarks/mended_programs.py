"""Mends programs that run, and runs them: FOLDER/*/bad.py, each beside the same program made well by hand, good.py.

    python benchmarks/mended_programs.py FOLDER... [--only NAME,NAME] [--runs FILE]

All rules with their hints, safe and unsafe fixes. Asked of each mended program: it runs and prints what bad.py
prints, up to rounding in the fifth digit and to times; what was fixed is found no more and no code is found more
often than before; a second run changes nothing; and the CPU meter counts good.py's memory, in the measures in which
bad.py's differs. Programs choose their device by `"cuda" if … else "cpu"`; the meter's device stands in for the
latter. --runs keeps what bad.py and good.py gave. Exits with 1 where a mended program fails, prints something else,
or mending is not as promised."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from torchmemlint.api import check_source, fix_source
from torchmemlint.config import Config
from torchmemlint.findings import Diagnostic

EVERYTHING = Config(select=("ALL",), unsafe_fixes=True)
MEASURES = ("peak", "end", "allocated")
SLACK = 64 << 10
CHILD = """
import json, random, sys, warnings
import torch
from torchmemlint.verify.meter_cpu import Tracker
warnings.simplefilter("ignore")
path, out = sys.argv[1:3]
sys.argv, sys.path[0] = [path], path.rpartition("/")[0]
random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)
try:
    import numpy
    numpy.random.seed(0)
except ImportError:
    pass
text = open(path, encoding="utf-8").read().replace('else "cpu"', 'else "cpu:0"').replace('="cpu")', '="cpu:0")')
import types
module = types.ModuleType("__main__")
module.__file__ = path
sys.modules["__main__"] = module
with Tracker() as tracker:
    exec(compile(text, path, "exec"), module.__dict__)
    end = tracker.ledger.live
used = tracker.usage
json.dump({"peak": used.peak, "end": end, "allocated": used.allocated}, open(out, "w"))
"""


@dataclass(frozen=True)
class Ran:
    """What a program printed and used; `failed` holds the end of its traceback."""

    printed: str
    peak: int = 0
    end: int = 0
    allocated: int = 0
    failed: str = ""


def ran(path: Path, text: str, seconds: float) -> Ran:
    """Run a text that stands for the file, with a copy of what lies beside it."""
    with tempfile.TemporaryDirectory() as folder:
        for other in path.parent.iterdir():
            if other.is_file() and other.name != path.name:
                Path(folder, other.name).write_bytes(other.read_bytes())
        program, out = Path(folder, path.name), Path(folder, "usage.json")
        program.write_text(text, encoding="utf-8")
        command = [sys.executable, "-c", CHILD, str(program), str(out)]
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
        run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds)
        if run.returncode:
            return Ran(run.stdout, failed=run.stderr[-600:])
        return Ran(run.stdout, **json.loads(out.read_text(encoding="utf-8")))


def words(text: str) -> list[str]:
    """What was printed, without times."""
    return re.sub(r"\b\d+(\.\d+)?(s|ms)\b", "T", text).split()


def alike(one: str, other: str) -> bool:
    """The same words, numbers up to rounding."""
    a, b = words(one), words(other)
    return len(a) == len(b) and all(map(_alike, a, b))


def _alike(one: str, other: str) -> bool:
    number = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
    if re.sub(number, "#", one) != re.sub(number, "#", other):
        return False
    pairs = zip(re.findall(number, one), re.findall(number, other))
    return all(abs(float(a) - float(b)) <= 1e-4 * max(abs(float(a)), abs(float(b)), 1e-3) for a, b in pairs)


def memory(bad: Ran, mended: Ran, good: Ran) -> str:
    """Measure by measure in which bad and good differ: how much of the waste is gone."""
    told = []
    for name in MEASURES:
        worst, now, best = (getattr(run, name) for run in (bad, mended, good))
        if worst - best > max(0.02 * best, SLACK):
            told.append(f"{name} {worst >> 10}→{now >> 10} KiB of {best >> 10} ({(worst - now) / (worst - best):.0%})")
    return ", ".join(told) or "bad uses no more than good"


def equal_memory(bad: Ran, mended: Ran, good: Ran) -> bool:
    """Does the mended program use no more than good, in all measures in which bad does?"""
    for name in MEASURES:
        worst, now, best = (getattr(run, name) for run in (bad, mended, good))
        if worst - best > max(0.02 * best, SLACK) and now - best > max(0.02 * best, SLACK):
            return False
    return True


def promised(text: str, mended: str, before: Sequence[Diagnostic]) -> list[str]:
    """What of the promises of mending does not hold."""
    wrong = []
    left = check_source(mended, "bad.py", EVERYTHING)
    if any(d.fix is not None for d in left):
        wrong.append(f"left to fix: {[(d.row, d.code) for d in left if d.fix is not None]}")
    more = Counter(d.code for d in left) - Counter(d.code for d in before)
    if more:
        wrong.append(f"new: {dict(more)} at {[d.row for d in left if d.code in more]}")
    if fix_source(mended, "bad.py", EVERYTHING) != mended:
        wrong.append("a second run changes more")
    return wrong


def judged(folder: Path, known: dict[str, Ran], seconds: float) -> tuple[str, bool]:
    """A line on one program, and whether all is well with it."""
    bad, good = folder / "bad.py", folder / "good.py"
    text = bad.read_text(encoding="utf-8")
    before = check_source(text, "bad.py", EVERYTHING)
    mended = fix_source(text, "bad.py", EVERYTHING)
    fixed = Counter(d.code for d in before) - Counter(d.code for d in check_source(mended, "bad.py", EVERYTHING))
    if mended == text:
        return f"{folder.name} no fix, found {sorted({d.code for d in before})}", True
    for path in (bad, good):
        key = f"{folder.name}/{path.name}"
        if key not in known:
            known[key] = ran(path, path.read_text(encoding="utf-8"), seconds)
    first, best, now = known[f"{folder.name}/bad.py"], known[f"{folder.name}/good.py"], ran(bad, mended, seconds)
    wrong = promised(text, mended, before)
    if now.failed and not first.failed:
        wrong.append(f"FAILS: {now.failed}")
    elif not alike(first.printed, now.printed):
        wrong.append(f"PRINTS {now.printed[-300:]!r} and not {first.printed[-300:]!r}")
    same = "equal" if equal_memory(first, now, best) else "UNEQUAL"
    line = f"{folder.name} fixed {' '.join(sorted(fixed.elements()))}: memory {same}: {memory(first, now, best)}"
    return "\n    ".join([line, *wrong]), not wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="Mend programs that run, and run them.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--only", default="", help="names of programs, with commas")
    parser.add_argument("--seconds", type=float, default=300, help="for one run of a program")
    parser.add_argument("--runs", type=Path, help="keeps what the programs gave that are not mended")
    arguments = parser.parse_args()
    known: dict[str, Ran] = {}
    if arguments.runs and arguments.runs.exists():
        known = {key: Ran(**run) for key, run in json.loads(arguments.runs.read_text(encoding="utf-8")).items()}
    wanted, failed = set(arguments.only.split(",")) - {""}, 0
    for folder in sorted(path.parent for root in arguments.folders for path in root.glob("*/bad.py")):
        if wanted and folder.name not in wanted:
            continue
        line, well = judged(folder, known, arguments.seconds)
        failed += not well
        print(line, flush=True)
        if arguments.runs:
            runs = json.dumps({key: asdict(run) for key, run in known.items()}, indent=1)
            arguments.runs.write_text(runs, encoding="utf-8")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
