"""What `torchmemlint check` does with its options, step by step."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH110, PTH112, PTH120

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TextIO

import click

from torchmemlint import baseline, cache, suppress
from torchmemlint.cli import settings
from torchmemlint.config import Config, merge
from torchmemlint.discover import discover
from torchmemlint.files import Texts, source_of, special
from torchmemlint.findings import Diagnostic
from torchmemlint.report import Context, printable, report
from torchmemlint.source import Source, SourceError, decode

if TYPE_CHECKING:
    from torchmemlint.engine import Session


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
    def given(self) -> tuple[str, ...]:
        """The paths to check; the working directory where none are named."""
        return self.paths or (".",)

    @property
    def mends(self) -> bool:
        """Are fixes to be made or shown?"""
        return self.fix or self.fix_only or self.diff

    @property
    def name(self) -> str:
        """What the text from standard input is called."""
        return os.path.normpath(self.stdin_filename) if self.stdin_filename else "<stdin>"


def run(options: Options) -> int:
    """Run the command; the exit code. Raises UsageError, ConfigError, MissingPath, BaselineError."""
    _complain(options)
    _tolerant()
    base = _settings(options)
    config = _merged(base, options)
    cached = not (options.no_cache or options.stdin or options.show_files)
    known = cache.lookup(config, options.given) if cached else None
    if known is not None and not options.mends:
        return _told(_Run(len(known.files)), known.found, options)
    if known is None:  # else the run that it knows of has looked
        _check_codes(base, options)
    if options.show_files:
        for path in [options.name] if options.stdin else discover(options.given, config):
            click.echo(printable(path))
        return 0
    return _checked(config, options, cached, known)


def _checked(config: Config, options: Options, cached: bool, known: cache.Known | None) -> int:
    """Make the run, or, where fixes are wanted for what the cache knows, its second half."""
    from torchmemlint.engine import Session
    from torchmemlint.pools import default_jobs
    from torchmemlint.progress import bar

    trail = _trail(config, options) if cached and known is None else None
    with (
        bar(options.progress) as progress,
        Session(config, options.jobs or default_jobs(), progress=progress, trail=trail) as session,
    ):
        unreadable = _add(session, options) if known is None else _resumed(session, known, options)
        if options.mends:
            return _fixed(session, options, unreadable)
        found = sorted(unreadable + session.check())
    return _told(_Run(len(session.files), session.texts), found, options)


def _resumed(session: Session, known: cache.Known, options: Options) -> list[Diagnostic]:
    """Give the session what the cache knows; the files are indexed only if something is to be fixed."""
    from torchmemlint.mend import fixable

    if any(fixable(diagnostic, session.config.unsafe_fixes) for diagnostic in known.found):
        session.add(options.given)
    session.files, session.settled = known.files, known.found
    return []


def _trail(config: Config, options: Options) -> cache.Trail | None:
    """What the cache is to be told of this run; None where rules are missing, of which each run has to speak."""
    from torchmemlint.loader import foreign_files, load

    if load().warnings:
        return None
    foreign = list(foreign_files())
    trail = cache.Trail(config, options.given, by_file=not foreign)  # nobody knows what rules of others look at
    trail.note(foreign)
    return trail


@dataclass(frozen=True)
class _Run:
    """What is left of a run when its files are checked."""

    count: int
    texts: Mapping[str, Source] = field(default_factory=dict)


def _told(ran: _Run, found: Sequence[Diagnostic], options: Options) -> int:
    if options.add_noqa:
        return _noqa(ran, found)
    return _reported(found, options, _context(ran, ran.count, options))


def _complain(options: Options) -> None:
    if "-" in options.paths and not options.stdin:
        raise click.UsageError("`-` (standard input) can't be combined with paths")
    if options.stdin and options.add_noqa:
        raise click.UsageError("--add-noqa writes files: it can't be combined with standard input")
    if options.add_noqa and options.mends:
        raise click.UsageError("--add-noqa can't be combined with --fix, --fix-only or --diff")
    if options.update_baseline and not options.baseline:
        raise click.UsageError("--update-baseline needs --baseline FILE")
    if options.diff_base and (options.mends or options.add_noqa or options.stdin):
        raise click.UsageError("--diff-base only reports: not with --fix, --diff, --add-noqa or standard input")
    if options.config_file and options.isolated:
        raise click.UsageError("--config and --isolated exclude each other")


def _settings(options: Options) -> Config:
    start = options.stdin_filename or "." if options.stdin else options.given[0]
    return settings(options.config_file, options.isolated, start)


def _merged(config: Config, options: Options) -> Config:
    """The settings, changed as the options say."""
    select, ignore, extend = options.select, options.ignore, options.extend_select
    return merge(config, select=select, ignore=ignore, extend_select=extend, unsafe_fixes=options.unsafe_fixes)


def _check_codes(config: Config, options: Options) -> None:
    """Say which rules can't be loaded. Raises ConfigError for a code that no rule has."""
    from torchmemlint.loader import load, load_rules
    from torchmemlint.selection import SPECIAL, check_codes

    known = [rule.code for rule in load_rules()] + list(SPECIAL)
    for warning in load().warnings:
        click.echo(f"torchmemlint: warning: {printable(warning)}", err=True)
    check_codes(config, known)
    select, ignore, extend = options.select, options.ignore, options.extend_select
    check_codes(Config(select=select or (), ignore=ignore or (), extend_select=extend or ()), known)


def _add(session: Session, options: Options) -> list[Diagnostic]:
    """Index the files; the finding that standard input isn't readable, if so."""
    if not options.stdin:
        session.add(options.given)
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

    context = _context(session, len(session.files), options)
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
    context, stream = _context(session, len(session.files), options), sys.stderr if options.stdin else sys.stdout
    context.fixed, context.unsafe = mended.codes, session.config.unsafe_fixes
    if not options.fix_only:
        return _reported(mended.left, options, context, stream)
    if not options.quiet:
        click.echo(fixes_made(mended.codes), file=stream)
    return 0


def _pass_on(session: Session, options: Options, after: dict[str, Source]) -> None:
    """Standard input's text, mended, to standard output."""
    text = after.get(options.name) or session.texts.get(options.name)
    if text is not None:
        sys.stdout.buffer.write(text.encode(text.data))
        sys.stdout.buffer.flush()


def _reported(found: Sequence[Diagnostic], options: Options, context: Context, stream: TextIO | None = None) -> int:
    """Take off the baseline, write the report; the exit code."""
    found = _beyond_baseline(found, options, context)
    if options.diff_base:
        from torchmemlint.changes import Changes, on_changed_lines

        found = on_changed_lines(found, Changes(options.diff_base, _folder(options)), context.file_row)
    report(options.output_format, found, context, stream or sys.stdout)
    return 1 if found and not options.exit_zero else 0


def _context(texts: Texts, files: int, options: Options) -> Context:
    """What the reporters know of the run. Texts are read again when asked for: fixes change them."""
    read = partial(source_of, texts)
    return Context(read, files, statistics=options.statistics, summary=not options.quiet)


def _unknown(found: Sequence[Diagnostic], options: Options, context: Context) -> Sequence[Diagnostic]:
    """The findings that the baseline does not hide; only they are fixed."""
    if not options.baseline or options.update_baseline or not os.path.exists(options.baseline):
        return found
    context.texts.clear()
    return baseline.new_findings(found, options.baseline, context.line)


def _folder(options: Options) -> str:
    first = options.given[0]
    return first if os.path.isdir(first) else os.path.dirname(first) or "."


def _beyond_baseline(found: Sequence[Diagnostic], options: Options, context: Context) -> Sequence[Diagnostic]:
    if not options.baseline:
        return found
    if options.update_baseline or not os.path.exists(options.baseline):
        baseline.write(found, options.baseline, context.line)
        click.echo(f"{options.baseline}: baseline written, {len(found)} findings", err=True)
        return []
    return baseline.new_findings(found, options.baseline, context.line)


def _noqa(texts: Texts, found: Sequence[Diagnostic]) -> int:
    from torchmemlint.fixes import write_atomically

    total = 0
    by_file: dict[str, list[Diagnostic]] = {}
    for diagnostic in found:
        by_file.setdefault(diagnostic.filename, []).append(diagnostic)
    for path, diagnostics in by_file.items():
        try:
            source = source_of(texts, path)
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
