"""The public names for rules and programs that use torchmemlint as a library."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchmemlint.config import Config, ConfigError
from torchmemlint.findings import Diagnostic, Edit, Finding, Fix, Place, Severity
from torchmemlint.registry import RUNS, Rule, on, role

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from torchmemlint.engine import Session

__all__ = [
    "RUNS",
    "Config",
    "ConfigError",
    "Diagnostic",
    "Edit",
    "Finding",
    "Fix",
    "Place",
    "Rule",
    "Severity",
    "check",
    "check_source",
    "fix_source",
    "on",
    "role",
]

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def check(
    paths: Paths, config: Config | None = None, jobs: int = 1, executor: Executor | None = None
) -> list[Diagnostic]:
    """All findings in the files under `paths`, sorted by place.

    `config` None: the settings file nearest to the first path. `executor`: any concurrent.futures.Executor, whose
    workers must see the same files; `jobs` > 1 starts processes of its own. Raises MissingPath, ConfigError."""
    from torchmemlint.config import discover
    from torchmemlint.engine import Session

    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    names = [os.fspath(path) for path in several]
    settings = config if config is not None else discover(names[0] if names else ".")
    validate(settings)
    with Session(settings, jobs, executor) as session:
        session.add(names)
        return session.check()


def check_source(text: str | bytes, filename: str = "<string>", config: Config | None = None) -> list[Diagnostic]:
    """All findings in a text that stands for the file `filename`; files that it imports are read if they are there."""
    session, failed = _session(text, filename, config)
    return failed or session.check()


def fix_source(text: str, filename: str = "<string>", config: Config | None = None, *, unsafe: bool = False) -> str:
    """The text with all safe fixes made; with `unsafe`, or the setting unsafe-fixes, all fixes. A text that can't be
    parsed comes back as it is."""
    from torchmemlint.mend import mend

    session, failed = _session(text, filename, config)
    if failed:
        return text
    mended = mend(session, unsafe or session.config.unsafe_fixes)
    return mended.after[filename].text if filename in mended.after else text


def validate(config: Config) -> None:
    """Raise ConfigError for a code that no rule has."""
    from torchmemlint.loader import load_rules
    from torchmemlint.selection import SPECIAL, check_codes

    if config.select or config.ignore or config.extend_select or config.per_file_ignores:
        check_codes(config, [rule.code for rule in load_rules()] + list(SPECIAL))


def _session(text: str | bytes, filename: str, config: Config | None) -> tuple[Session, list[Diagnostic]]:
    """A session of this one text, and why it can't be read, if so."""
    from torchmemlint.engine import Session
    from torchmemlint.files import special
    from torchmemlint.source import Source, SourceError, decode

    session = Session(config if config is not None else Config())
    validate(session.config)
    try:
        source = decode(text, filename) if isinstance(text, bytes) else Source(filename, text.encode())
        if "\0" in source.text:
            raise SourceError("contains a null byte", source.text.count("\n", 0, source.text.index("\0")) + 1)
    except (SourceError, UnicodeEncodeError) as error:
        row, column = getattr(error, "row", 1), getattr(error, "column", 1)
        return session, [special(filename, "TML000", getattr(error, "message", str(error)), row, column)]
    session.add([filename], {filename: source})
    return session, []
