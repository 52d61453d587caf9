"""The command `torchmemlint trace`: runs a program with its memory recorded, and gives each finding its bytes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import click

SITE = """\
import importlib.machinery, os, sys
_here = os.path.dirname(os.path.abspath(__file__))
try:
    import torchmemlint_recorder
    torchmemlint_recorder.arm()
except Exception as error:
    sys.stderr.write(f"torchmemlint: not recorded: {error}\\n")
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != _here]
_next = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
if _next is not None and _next.loader is not None:
    _next.loader.exec_module(sys.modules["sitecustomize"])
"""


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Run a program and give its findings their bytes.",
)
@click.option("--out", type=click.Path(dir_okay=False), help="Write all lines and findings as JSON.")
@click.option("--device", type=click.Choice(["auto", "cuda", "cpu"]), default="auto", show_default=True,
              help="Whose memory is recorded.")  # fmt: skip
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
def command(out: str | None, device: str, program: tuple[str, ...]) -> None:
    """Run PROGRAM (`-- python train.py …`) and order the findings in its files by the memory they cost there.

    Its output, signals and exit code stay as they are; the report goes to standard error."""
    from torchmemlint.cli import reporting_errors

    with reporting_errors(), tempfile.TemporaryDirectory(prefix="torchmemlint-") as home:
        code = run(program, device, Path(home))
        report(Path(home), out)
    _leave(code)


def run(program: Sequence[str], device: str, home: Path) -> int:
    """Run the program with the recorder in `home`; its exit code, negative for a signal. Raises UsageError."""
    from torchmemlint.verify import recorder

    shutil.copy(recorder.__file__, home / "torchmemlint_recorder.py")
    (home / "sitecustomize.py").write_text(SITE, encoding="utf-8")
    paths = [str(home), *filter(None, [os.environ.get("PYTHONPATH")])]
    ours = {recorder.FOLDER: str(home), recorder.DEVICE: device, "PYTHONPATH": os.pathsep.join(paths)}
    try:
        child = subprocess.Popen(program, env={**os.environ, **ours})
    except OSError as error:
        raise click.UsageError(f"{program[0]} can't be started: {error.strerror}") from None
    return _wait(child)


def _wait(child: subprocess.Popen[bytes]) -> int:
    """Wait for the program, passing on the signals that ask this process to end."""

    def pass_on(number: int, _: FrameType | None) -> None:
        child.send_signal(number)

    names = [name for name in ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2") if hasattr(signal, name)]
    before: dict[int, Any] = {getattr(signal, name): signal.signal(getattr(signal, name), pass_on) for name in names}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the program too
    try:
        return child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(code: int) -> None:
    """End as the program ended."""
    if code < 0 and hasattr(signal, "SIGKILL"):
        signal.signal(-code, signal.SIG_DFL) if -code not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -code)
    sys.exit(code if code >= 0 else 128 - code)


def report(home: Path, out: str | None) -> None:
    """Join what was recorded with the findings and print it to standard error."""
    from torchmemlint.verify.joined import join, lines_of, read_records, unexplained

    records = read_records(home)
    if not records:
        click.echo("torchmemlint: nothing was recorded: the program did not import torch, or ran isolated", err=True)
        return
    heaviest = max(records, key=lambda record: record["peak"])
    lines = lines_of(heaviest)
    joined = join(lines, _findings(sorted({path for path, _ in lines})))
    missing = unexplained(lines, joined)
    _show(heaviest, len(records), joined, missing)
    if out:
        Path(out).write_text(json.dumps(_as_json(heaviest, lines, joined, missing), indent=1) + "\n", encoding="utf-8")


def _findings(paths: Sequence[str]) -> list[Any]:
    from torchmemlint.api import Config, check

    files = [path for path in paths if path.endswith(".py") and Path(path).is_file()]
    return check(files, Config(hints=True)) if files else []


def _show(record: dict[str, Any], processes: int, joined: Sequence[Any], missing: Sequence[Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from torchmemlint.verify.judge import human

    console = Console(stderr=True, markup=False, emoji=False, highlight=False, width=None if _terminal() else 160)
    several = f", the largest of {processes} processes" if processes > 1 else ""
    console.print(f"torchmemlint trace: peak {human(record['peak'])} on {record['device']}{several}")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("growth", "at the peak"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("where", overflow="fold")
    table.add_column("what", overflow="fold")
    for measured in joined:
        finding, line = measured.finding, measured.line
        growth, peak = (human(line.growth), human(line.at_peak)) if line else ("-", "-")
        where = f"{_short(finding.filename)}:{finding.row}"
        table.add_row(growth, peak, where, f"{finding.code} {finding.message.splitlines()[0]}")
    for line in missing:
        table.add_row(human(line.growth), human(line.innermost), f"{_short(line.path)}:{line.row}", _text(line))
    if not record["peak"] and record["device"] == "cuda":
        console.print("the program puts nothing on the GPU; with --device cpu its tensors in host memory are followed")
    console.print(table if table.row_count else "no line holds memory that a finding is about")


def _terminal() -> bool:
    return sys.stderr.isatty()


def _short(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def _text(line: Any) -> str:
    """The source of a line that no rule explains."""
    try:
        return f"no finding: {Path(line.path).read_text(encoding='utf-8').splitlines()[line.row - 1].strip()}"
    except (OSError, IndexError, UnicodeDecodeError):
        return "no finding"


def _as_json(record: dict[str, Any], lines: Any, joined: Sequence[Any], missing: Sequence[Any]) -> dict[str, Any]:
    from dataclasses import asdict

    from torchmemlint.report.json import finding_object

    return {
        "device": record["device"],
        "peak": record["peak"],
        "findings": [{**finding_object(m.finding), "measured": asdict(m.line) if m.line else None} for m in joined],
        "unexplained": [asdict(line) for line in missing],
        "lines": [asdict(line) for line in sorted(lines.values(), key=lambda line: -line.at_peak)],
    }
