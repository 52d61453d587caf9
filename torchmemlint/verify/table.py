"""The results of `verify` in the terminal, and as Markdown."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence

from torchmemlint.verify.closeness import Comparison
from torchmemlint.verify.judge import BROKEN, CONFIRMED, INCONCLUSIVE, REFUTED, SKIPPED, figures
from torchmemlint.verify.run import Setting, Verified, tally

STYLES = {CONFIRMED: "green", REFUTED: "bold red", BROKEN: "bold red", INCONCLUSIVE: "yellow", SKIPPED: "dim"}
METERS = {
    "cpu": "real CPU tensors, storages counted (no figures of a GPU)",
    "virtual": "predicted for a GPU by fake tensors; results compared by a real run on the CPU",
}


@contextlib.contextmanager
def bar(total: int, shown: bool) -> Iterator[Callable[[Verified], None]]:
    """A progress bar on standard error; yields what to call with each result."""
    if not shown:
        yield lambda result: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda result: progress.update(task, advance=1, description=f"{result.case.name}: {result.verdict}")


def heading(setting: Setting) -> str:
    """Where and how it was measured, in one line."""
    env = setting.environment
    driver = f", driver {env['driver']}" if env.get("driver") else ""
    how = METERS.get(setting.meter, "the caching allocator's statistics")
    return f"{env['device']}: {how}; torch {env['torch']}{driver}, {env['date']}"


def show(results: Sequence[Verified], setting: Setting) -> None:
    """The table, what needs a word, and the totals, on standard output."""
    from rich.console import Console
    from rich.table import Table

    terminal = sys.stdout.isatty()
    console = Console(markup=False, emoji=False, highlight=False, width=None if terminal else 160)
    console.print(heading(setting))
    if setting.word:
        console.print(setting.word, style="yellow")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("fixture", "claim", "bad → good", "fixed", "result", "verdict"):
        table.add_column(title, overflow="fold", no_wrap=title in ("claim", "verdict"))
    for result in results:
        table.add_row(*_row(result), style=None if result.verdict == CONFIRMED else STYLES[result.verdict])
    console.print(table)
    for result in results:
        for line in remarks(result):
            console.print(f"{result.case.name}: {line}", style=STYLES[result.verdict])
    console.print(summary(results))


def _row(result: Verified) -> tuple[str, ...]:
    case, claims = result.case, {claim.name: claim for claim in result.claims}
    if case.figures:
        right = sum(claim.verdict == CONFIRMED for claim in result.claims)
        return (
            case.name,
            "fact",
            f"{right} of {len(case.figures)} figures" if result.meter else "",
            "",
            "",
            result.verdict,
        )
    bad, good, fixed = (result.outcomes.get(v) for v in ("bad", "good", "fixed"))
    shown = figures(case.effect, bad.usage, good.usage) if bad and good and bad.ok and good.ok else ""
    mended = claims["fix"].verdict if "fix" in claims else "no fix" if fixed is None else ""
    same = claims["result"].detail.partition(":")[0] if "result" in claims else ""
    return case.name, case.effect or "-", shown, mended, same, result.verdict


def remarks(result: Verified) -> Iterator[str]:
    """What is not as it should be, or was measured otherwise than the rest."""
    for claim in result.claims:
        if claim.verdict != CONFIRMED:
            yield f"{claim.name} {claim.verdict}: {claim.detail}"
    if result.note and not (result.case.device and result.verdict == CONFIRMED):
        yield result.note


def summary(results: Sequence[Verified]) -> str:
    """`31 cases: 29 confirmed, 2 skipped`."""
    counts = tally(results)
    parts = [f"{counts[verdict]} {verdict}" for verdict in STYLES if counts.get(verdict)]
    return f"{len(results)} case{'' if len(results) == 1 else 's'}: {', '.join(parts)}"


def markdown(results: Sequence[Verified], setting: Setting) -> str:
    """The table in Markdown, one row a case."""
    lines = [
        f"{heading(setting)}.",
        "",
        "| fixture | claim | bad → good | fix | verdict |",
        "| --- | --- | --- | --- | --- |",
    ]
    for result in results:
        name, effect, shown, mended, _, verdict = _row(result)
        lines.append(f"| {name} | {effect} | {shown} | {mended} | {verdict} |")
    return "\n".join([*lines, "", summary(results), ""])


def show_comparison(found: Comparison) -> None:
    """What differs from a record, and how close the rest is."""
    from rich.console import Console

    from torchmemlint.verify.closeness import closeness

    console = Console(markup=False, emoji=False, highlight=False, width=None if sys.stdout.isatty() else 160)
    for row in found.rows:
        if row.differs:
            console.print(f"{row.case} {row.variant}: {'; '.join(row.differs)}", style="yellow")
    for name, (ours, theirs) in found.otherwise.items():
        console.print(f"{name}: {ours}, recorded {theirs}", style="bold red")
    console.print(closeness(found))
