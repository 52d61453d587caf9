"""The flake8 plugin: the findings of `torchmemlint check`, chosen and silenced by flake8's own means."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH110

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from torchmemlint import __version__
from torchmemlint.config import Config, discover, load, merge

STDIN = "-"


class Settings(NamedTuple):
    """What flake8 was told: the paths it checks, and what concerns this plugin."""

    paths: tuple[str, ...] = (STDIN,)
    asked: tuple[str, ...] = ()  # codes that --select or --extend-select names; prefixes longer than TML
    config_file: str | None = None
    hints: bool = False
    noqa: bool = True


class Plugin:
    """Called by flake8 for each file. All files of a process share one view of the project."""

    name = "torchmemlint"
    version = __version__
    settings = Settings()
    _project: Project | None = None

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        self.filename, self.lines = filename, lines

    @classmethod
    def add_options(cls, manager: Any) -> None:
        """Declare this plugin's options, for the command line and flake8's settings files."""
        manager.add_option(
            "--torchmemlint-config", metavar="FILE", parse_from_config=True, normalize_paths=True,
            help="settings of torchmemlint; by default those nearest to the first path",
        )  # fmt: skip
        manager.add_option(
            "--torchmemlint-hints", action="store_true", default=False, parse_from_config=True,
            help="report hints too, not only those whose code is selected",
        )  # fmt: skip

    @classmethod
    def parse_options(cls, options: Any) -> None:
        """Take over flake8's options. Called in every process of a run."""
        chosen = [*(options.select or ()), *(options.extend_select or ())]
        asked = tuple(code for code in chosen if code.startswith("TML") and code != "TML")
        paths = tuple(options.filenames or (".",))
        config_file, hints = options.torchmemlint_config, bool(options.torchmemlint_hints)
        cls.settings = Settings(paths, asked, config_file, hints, not options.disable_noqa)
        cls._project = None
        _validate(cls.settings)

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """flake8's view of each finding; it adds 1 to columns."""
        cls = type(self)
        if self.settings.paths == (STDIN,):
            project = Project(self.settings, {os.path.normpath(self.filename): "".join(self.lines)})
        else:
            project = cls._project = cls._project or Project(self.settings)
        for d in project.findings(os.path.normpath(self.filename)):
            yield d.row, d.column - 1, f"{d.code} {d.message}", cls


def _validate(settings: Settings) -> None:
    """Settings that can't be used end flake8 with one line, not with a traceback."""
    from flake8.exceptions import ExecutionError

    from torchmemlint.api import validate
    from torchmemlint.config import ConfigError

    try:
        validate(_config(settings))
    except ConfigError as error:
        raise ExecutionError(f"torchmemlint: {error}") from None


class Project:
    """The files of flake8's run, linked as `check` links them; `texts` stand for files (standard input)."""

    def __init__(self, settings: Settings, texts: dict[str, str] | None = None) -> None:
        from torchmemlint.engine import Session
        from torchmemlint.source import Source

        self.settings = settings
        paths = [path for path in settings.paths if os.path.exists(path)]
        sources = {path: Source(path, text.encode("utf-8", "replace")) for path, text in (texts or {}).items()}
        self.config = _config(settings, next(iter(sources), None))
        self.session = Session(self.config)
        self.session.add([*sources] if sources else paths, sources)
        self.checker = self._checker()

    def _checker(self) -> Any:
        from torchmemlint.files import FileChecker
        from torchmemlint.index.project import ProjectIndex

        session = self.session
        return FileChecker(ProjectIndex(session.indexes), self.config, session.texts, noqa=self.settings.noqa)

    def findings(self, path: str) -> Sequence[Any]:
        """A file's findings, sorted; a file that torchmemlint's own settings exclude is checked as if named."""
        if path not in self.session.items:
            self.session.extend([path])
            self.checker = self._checker()
        return list(self.checker.check(path)) if path in self.session.indexes else []


def _config(settings: Settings, start: str | None = None) -> Config:
    """The settings that hold for `start`, by default the first path that is there."""
    start = start or next(filter(os.path.exists, settings.paths), ".")
    config = load(settings.config_file) if settings.config_file else discover(start)
    return merge(config, extend_select=settings.asked, hints=settings.hints or None)
