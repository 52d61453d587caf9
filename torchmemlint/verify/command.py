"""The command `torchmemlint verify`."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

INTERRUPTED = 130
INSTALL = 'pip install "torchmemlint[verify]"'
DEVICES = "auto, cuda, cuda:N, virtual, cpu, or a device of torch.accelerator"


@click.command(short_help="Measure what the rules claim, on their fixtures; needs PyTorch.")
@click.argument("wanted", nargs=-1, metavar="[CODE|PATH]...")
@click.option("--device", default="auto", show_default=True, help=f"Where to measure: {DEVICES}.")
@click.option(
    "--repeat", type=click.IntRange(min=1), default=1, show_default=True, help="Runs of each variant on a GPU."
)
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Measurements at a time; by default 2.")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=60.0, show_default=True, help="Seconds for one run.")
@click.option("--memory", type=click.FloatRange(min=0.1), default=8.0, show_default=True, help="GiB for one run.")
@click.option("--json", "json_file", type=click.Path(dir_okay=False), help="Write all figures to a file.")
@click.option("--html", "html_file", type=click.Path(dir_okay=False), help="Write a report that opens in a browser.")
@click.option("--markdown", "markdown_file", type=click.Path(dir_okay=False), help="Write the table as Markdown.")
@click.option("--record", is_flag=True, help="Keep the figures in the record of this device and torch version.")
@click.option("--records", "folder", type=click.Path(file_okay=False), help="Where records go; by default the package.")
@click.option("--compare", type=click.Path(exists=True, dir_okay=False), help="Tell what differs from a record.")
@click.option("--progress/--no-progress", default=None, help="A progress bar; by default on a terminal.")
def command(**options: Any) -> None:
    """Prove what the rules claim: run each fixture's bad, good and mended program and measure their memory.

    Names codes (TML101, TML3), files or folders; all rules by default. This runs the fixtures' code. Exit code 0: no
    claim is refuted; 1: one is, or a fixture does not run; 2: nothing can be measured."""
    from torchmemlint.cli import reporting_errors

    with reporting_errors():
        sys.exit(run(**options))


def run(
    wanted: Sequence[str],
    device: str,
    repeat: int,
    jobs: int | None,
    timeout: float,
    memory: float,
    progress: bool | None,
    compare: str | None,
    **files: Any,
) -> int:
    """Measure, print, write the files; returns the exit code. Raises UsageError when the set-up is broken."""
    from torchmemlint.verify.cases import CaseError, gather
    from torchmemlint.verify.pool import Pool, PoolError
    from torchmemlint.verify.run import Plan, SetupError, prepare

    if find_spec("torch") is None:
        click.echo(f"torchmemlint: error: verify needs PyTorch: {INSTALL}", err=True)
        return 2
    try:
        cases = gather(wanted)
        with Pool(min(jobs or 2, os.cpu_count() or 1, max(1, len(cases)))) as pool:
            plan = Plan(device, repeat, timeout, int(memory * (1 << 30)))
            setting = prepare(plan, pool)
            results = _measured(cases, plan, setting, pool, progress)
    except (CaseError, SetupError, PoolError) as error:
        click.echo(f"torchmemlint: error: {error}", err=True)
        return 2
    complete = len(results) == len(cases)
    code = _reported(results, setting, compare, files, part=bool(wanted) or not complete)
    return code if complete else INTERRUPTED


def _measured(cases: Sequence[Any], plan: Any, setting: Any, pool: Any, progress: bool | None) -> list[Any]:
    from torchmemlint.verify.run import verify
    from torchmemlint.verify.table import bar

    shown = sys.stderr.isatty() if progress is None else progress
    results = []
    with bar(len(cases), shown) as advance, contextlib.suppress(KeyboardInterrupt):
        for result in verify(cases, plan, setting, pool):
            results.append(result)
            advance(result)
    if len(results) < len(cases):
        click.echo(f"torchmemlint: stopped when {len(results)} of {len(cases)} cases were measured", err=True)
    return results


def _reported(results: list[Any], setting: Any, compare: str | None, files: dict[str, Any], part: bool) -> int:
    from torchmemlint.verify import table
    from torchmemlint.verify.closeness import compared
    from torchmemlint.verify.records import as_json, load, write_record

    table.show(results, setting)
    written = as_json(results, setting)
    if files["json_file"]:
        import json

        _write(files["json_file"], json.dumps(written, indent=1) + "\n")
    if files["markdown_file"]:
        _write(files["markdown_file"], table.markdown(results, setting))
    if files["html_file"]:
        from torchmemlint.verify.html import page

        _write(files["html_file"], page(results, setting))
    if files["record"]:
        click.echo(f"recorded in {write_record(written, files['folder'], part)}", err=True)
    if compare:
        table.show_comparison(compared(written, load(compare)))
    return int(any(result.verdict in ("refuted", "broken") for result in results))


def _write(name: str, text: str) -> None:
    Path(name).write_text(text, encoding="utf-8")
