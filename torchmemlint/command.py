"""What `torchmemlint check` does with its options, step by step."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH110, PTH112, PTH120

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TextIO

import click

from torchmemlint import baseline, suppress
from torchmemlint.cli import settings
from torchmemlint.config import Config, merge
from torchmemlint.discover import discover
from torchmemlint.engine import Session, default_jobs, source_of
from torchmemlint.files import special
from torchmemlint.findings import Diagnostic
from torchmemlint.report import Context, printable, report
from torchmemlint.source import Source, SourceError, decode


@dataclass(frozen=True)
class Options:
    """The options of `check`, as the command line names them."""

    paths: tuple[str, ...] = ()
    fix: bool = False
    fix_only: bool = False
    unsafe_fixes: bool | None = None
    diff: bool = False
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] | None = None
    output_format: str = "text"
    exit_zero: bool = False
    statistics: bool = False
    no_cache: bool = False
    stdin_filename: str | None = None
    jobs: int | None = None
    baseline: str | None = None
    update_baseline: bool = False
    diff_base: str | None = None
    add_noqa: bool = False
    config_file: str | None = None
    isolated: bool = False
    show_files: bool = False
    quiet: bool = False
    progress: bool | None = None

    @property
    def stdin(self) -> bool:
        """Is the text read from standard input?"""
        return self.paths == ("-",)

    @property
    def name(self) -> str:
        """What the text from standard input is called."""
        return os.path.normpath(self.stdin_filename) if self.stdin_filename else "<stdin>"


def run(options: Options) -> int:
    """Run the command; the exit code. Raises UsageError, ConfigError, MissingPath, BaselineError."""
    _complain(options)
    _tolerant()
    config = _config(options)
    if options.show_files:
        for path in [options.name] if options.stdin else discover(options.paths or (".",), config):
            click.echo(printable(path))
        return 0
    from torchmemlint.progress import bar

    with (
        bar(options.progress) as progress,
        Session(config, options.jobs or default_jobs(), progress=progress) as session,
    ):
        unreadable = _add(session, options)
        if options.fix or options.fix_only or options.diff:
            return _fixed(session, options, unreadable)
        found = sorted(unreadable + session.check())
    if options.add_noqa:
        return _noqa(session, found)
    return _reported(session, found, options)


def _complain(options: Options) -> None:
    if "-" in options.paths and not options.stdin:
        raise click.UsageError("`-` (standard input) can't be combined with paths")
    if options.stdin and options.add_noqa:
        raise click.UsageError("--add-noqa writes files: it can't be combined with standard input")
    if options.add_noqa and (options.fix or options.fix_only or options.diff):
        raise click.UsageError("--add-noqa can't be combined with --fix, --fix-only or --diff")
    if options.update_baseline and not options.baseline:
        raise click.UsageError("--update-baseline needs --baseline FILE")
    if options.diff_base and (options.fix or options.fix_only or options.diff or options.add_noqa or options.stdin):
        raise click.UsageError("--diff-base only reports: not with --fix, --diff, --add-noqa or standard input")
    if options.config_file and options.isolated:
        raise click.UsageError("--config and --isolated exclude each other")


def _config(options: Options) -> Config:
    from torchmemlint.loader import load, load_rules
    from torchmemlint.selection import SPECIAL, check_codes

    start = options.stdin_filename or "." if options.stdin else (options.paths or (".",))[0]
    config = settings(options.config_file, options.isolated, start)
    known = [rule.code for rule in load_rules()] + list(SPECIAL)
    for warning in load().warnings:
        click.echo(f"torchmemlint: warning: {printable(warning)}", err=True)
    check_codes(config, known)
    select, ignore, extend = options.select, options.ignore, options.extend_select
    check_codes(Config(select=select or (), ignore=ignore or (), extend_select=extend or ()), known)
    return merge(config, select=select, ignore=ignore, extend_select=extend, unsafe_fixes=options.unsafe_fixes)


def _add(session: Session, options: Options) -> list[Diagnostic]:
    """Index the files; the finding that standard input isn't readable, if so."""
    if not options.stdin:
        session.add(options.paths or (".",))
        return []
    try:
        text = decode(sys.stdin.buffer.read(), options.name)
    except SourceError as error:
        return [special(options.name, "TML000", error.message, error.row, error.column)]
    session.add([options.name], {options.name: text})
    return []


def _fixed(session: Session, options: Options, unreadable: list[Diagnostic]) -> int:
    from torchmemlint.mend import mend
    from torchmemlint.report.summary import fixes_made

    context = _context(session, options)
    mended = mend(session, session.config.unsafe_fixes, wanted=lambda found: _unknown(found, options, context))
    mended.left = sorted(unreadable + mended.left)
    if options.diff:
        sys.stdout.buffer.write(mended.diff().encode())
        sys.stdout.buffer.flush()
    elif options.stdin:
        _pass_on(session, options, mended.after)
    else:
        mended.write()
    for note in mended.notes:
        click.echo(f"torchmemlint: {printable(note)}", err=True)
    if options.diff:
        count = len(mended.changed())
        if not options.quiet:
            click.echo(f"{count} file{'' if count == 1 else 's'} would change.", err=True)
        return 1 if count and not options.exit_zero else 0
    context, stream = _context(session, options), sys.stderr if options.stdin else sys.stdout
    context.fixed, context.unsafe = mended.codes, session.config.unsafe_fixes
    if not options.fix_only:
        return _reported(session, mended.left, options, context, stream)
    if not options.quiet:
        click.echo(fixes_made(mended.codes), file=stream)
    return 0


def _pass_on(session: Session, options: Options, after: dict[str, Source]) -> None:
    """Standard input's text, mended, to standard output."""
    text = after.get(options.name) or session.texts.get(options.name)
    if text is not None:
        sys.stdout.buffer.write(text.encode(text.data))
        sys.stdout.buffer.flush()


def _reported(
    session: Session,
    found: Sequence[Diagnostic],
    options: Options,
    context: Context | None = None,
    stream: TextIO | None = None,
) -> int:
    """Take off the baseline, write the report; the exit code."""
    context = context or _context(session, options)
    found = _beyond_baseline(found, options, context)
    if options.diff_base:
        from torchmemlint.changes import Changes, on_changed_lines

        found = on_changed_lines(found, Changes(options.diff_base, _folder(options)), context.file_row)
    report(options.output_format, found, context, stream or sys.stdout)
    return 1 if found and not options.exit_zero else 0


def _context(session: Session, options: Options) -> Context:
    """What the reporters know of the run. Texts are read again when asked for: fixes change them."""
    read = partial(source_of, session)
    return Context(read, len(session.files), statistics=options.statistics, summary=not options.quiet)


def _unknown(found: Sequence[Diagnostic], options: Options, context: Context) -> Sequence[Diagnostic]:
    """The findings that the baseline does not hide; only they are fixed."""
    if not options.baseline or options.update_baseline or not os.path.exists(options.baseline):
        return found
    context.texts.clear()
    return baseline.new_findings(found, options.baseline, context.line)


def _folder(options: Options) -> str:
    first = (options.paths or (".",))[0]
    return first if os.path.isdir(first) else os.path.dirname(first) or "."


def _beyond_baseline(found: Sequence[Diagnostic], options: Options, context: Context) -> Sequence[Diagnostic]:
    if not options.baseline:
        return found
    if options.update_baseline or not os.path.exists(options.baseline):
        baseline.write(found, options.baseline, context.line)
        click.echo(f"{options.baseline}: baseline written, {len(found)} findings", err=True)
        return []
    return baseline.new_findings(found, options.baseline, context.line)


def _noqa(session: Session, found: Sequence[Diagnostic]) -> int:
    from torchmemlint.fixes import write_atomically

    total = 0
    by_file: dict[str, list[Diagnostic]] = {}
    for diagnostic in found:
        by_file.setdefault(diagnostic.filename, []).append(diagnostic)
    for path, diagnostics in by_file.items():
        try:
            source = source_of(session, path)
            data, lines = suppress.add_noqa(source, diagnostics)
            if lines:
                write_atomically(path, source.encode(data), source.raw)
            total += lines
        except (SourceError, SyntaxError, OSError) as error:
            click.echo(f"torchmemlint: {printable(path)}: left as it is: {error}", err=True)
    click.echo(f"Added `# noqa` to {total} line{'' if total == 1 else 's'}.", err=True)
    return 0


def _tolerant() -> None:
    """Characters that the terminal's encoding lacks are escaped, not fatal."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
