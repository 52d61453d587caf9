"""What an edit costs in an editor: a language server, a file, one changed function at a time.

    python benchmarks/edits.py FILE [--edits N]

The file is opened in a folder of its own, and the first line of its longest function is typed anew N times. Printed are
the milliseconds from the change to the published findings (the server waits a moment before it starts, in case more is
typed) and the processor's time, which is the difference to a session without edits."""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from lsp_client import Client

SERVER = (sys.executable, "-m", "torchmemlint", "server")


def edited(text: str, number: int) -> str:
    """The text with a statement before the first one of its longest function."""
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    longest = max(functions, key=lambda f: f.end_lineno - f.lineno)
    first = longest.body[0]
    lines = text.splitlines(keepends=True)
    lines.insert(first.lineno - 1, f"{' ' * first.col_offset}assert {number} < 1_000_000\n")
    return "".join(lines)


def session(path: Path, texts: list[str]) -> tuple[list[float], float]:
    """(seconds to the findings of each text, CPU seconds of the server) of a session with these changes."""
    before = os.times()
    waits = []
    with Client(SERVER, path.parent) as client:
        client.initialize(path.parent)
        uri = client.open(path)
        client.diagnostics(uri)
        for version, text in enumerate(texts, 2):
            started = time.perf_counter()
            client.change(uri, text, version)
            client.diagnostics(uri)
            waits.append(time.perf_counter() - started)
    after = os.times()
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return waits, used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--edits", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copy(options.file, folder))
        text = path.read_text(encoding="utf-8")
        _, alone = session(path, [])
        waits, used = session(path, [edited(text, number) for number in range(options.edits)])
    shown = [f"{1000 * seconds:.0f}" for seconds in (min(waits), statistics.median(waits), max(waits))]
    print(f"{len(text.splitlines())} lines, {options.edits} edits")
    print(f"from the change to the findings: {' / '.join(shown)} ms (least, median, most)")
    print(f"processor's time of an edit: {1000 * (used - alone) / options.edits:.0f} ms")


if __name__ == "__main__":
    main()
