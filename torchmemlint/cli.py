"""The command line. Only click is imported up front: everything else when a command needs it."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

from torchmemlint import __version__

if TYPE_CHECKING:
    from torchmemlint.config import Config

_F = TypeVar("_F", bound="Callable[..., Any]")
OWN_PROCESS = object()
"""Tells `check` that the process has nothing else to do."""
FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")


class _Commands(click.Group):
    """Commands that live in modules of their own, imported when they are named."""

    lazy: ClassVar[dict[str, str]] = {
        "verify": "torchmemlint.verify.command",
        "trace": "torchmemlint.trace",
        "server": "torchmemlint.server",
    }

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted([*super().list_commands(context), *(name for name in self.lazy if self._there(name))])

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in self.lazy and self._there(name):
            from importlib import import_module

            command = getattr(import_module(self.lazy[name]), "command", None)
            return command if isinstance(command, click.Command) else None
        return super().get_command(context, name)

    def _there(self, name: str) -> bool:
        from importlib.util import find_spec

        return find_spec(self.lazy[name]) is not None

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(context, args)
        except click.UsageError as error:
            from torchmemlint.config import nearest

            message = f"no such command `{args[0]}`{nearest(args[0], self.list_commands(context))}"
            raise click.UsageError(message, context) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="torchmemlint")
def main() -> None:
    """Finds the lines of a PyTorch program that keep or waste GPU memory, before the job runs, and mends them.

    \b
    torchmemlint check src/          what is found
    torchmemlint check src/ --diff   what --fix would change
    torchmemlint explain TML101      what a rule means
    """


def _codes(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    codes = tuple(code.strip().upper() for value in values for code in value.split(",") if code.strip())
    return codes or None


def _code_option(name: str, text: str) -> Callable[[_F], _F]:
    return click.option(name, multiple=True, callback=_codes, metavar="CODES", help=text)


@main.command(short_help="Check files, folders and notebooks; mend them with --fix.")
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option("--fix", is_flag=True, help="Make the safe fixes and write the files.")
@click.option("--unsafe-fixes/--no-unsafe-fixes", default=None, help="Include fixes that may change what is computed.")
@click.option("--fix-only", is_flag=True, help="--fix, then exit with 0 and say only what was fixed.")
@click.option("--diff", is_flag=True, help="Show what --fix would change; write nothing.")
@_code_option("--select", "Only these codes; prefixes (TML1) and ALL work, commas too.")
@_code_option("--ignore", "Leave these codes out.")
@_code_option("--extend-select", "These codes as well: shows their hints.")
@click.option("--output-format", type=click.Choice(FORMATS), default="text", show_default=True, help="Report as this.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@click.option("--statistics", is_flag=True, help="Counts by code instead of findings.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache of findings.")
@click.option("--stdin-filename", metavar="NAME", help="The name that the text from standard input (-) goes by.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Processes; by default one for each processor.")
@click.option("--baseline", metavar="FILE", help="Hide the findings in FILE; it is written when it isn't there.")
@click.option("--update-baseline", is_flag=True, help="Write all findings to the baseline.")
@click.option("--diff-base", metavar="REV", help="Only findings on lines that changed since the git revision REV.")
@click.option("--add-noqa", is_flag=True, help="Add a `# noqa` with the code to each line with a finding.")
@click.option("--config", "config_file", metavar="FILE", help="Settings: a pyproject.toml or torchmemlint.toml.")
@click.option("--isolated", is_flag=True, help="Ignore all settings files.")
@click.option("--show-files", is_flag=True, help="List the files that would be checked.")
@click.option("--quiet", "-q", is_flag=True, help="Findings only, no summary.")
@click.option("--progress/--no-progress", default=None, help="A progress bar; by default in long runs on a terminal.")
def check(**options: Any) -> None:
    """Check Python files, notebooks and folders (the working directory by default); `-` reads standard input.

    Calls are followed through all files of one run, so check a project as a whole. What .gitignore names is left out.
    Settings come from the nearest torchmemlint.toml or pyproject.toml.

    \b
    Exit code 0: nothing is left.
              1: findings are left, or with --diff, files would change.
              2: wrong use, or an internal error.

    \b
    torchmemlint check src/ --select ALL         hints too
    torchmemlint check src/ --fix                mend what provably computes the same
    torchmemlint check src/ --diff-base main     changed lines only
    torchmemlint check src/ --baseline old.json  what is new only
    """
    from torchmemlint.command import Options, run

    if click.get_current_context().obj is OWN_PROCESS:
        gc.disable()  # interpretations are collected by their weight, all else goes with the process
    with reporting_errors():
        sys.exit(run(Options(**options)))


def _complete_code(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Codes and names of rules, for shells."""
    from torchmemlint.loader import load_rules

    words = [word for rule in load_rules() for word in (rule.code, rule.name)]
    return [word for word in words if word.lower().startswith(incomplete.lower())]


@main.command()
@click.argument("code", shell_complete=_complete_code)
def explain(code: str) -> None:
    """Explain a rule: what it finds, why that costs memory, an example.

    CODE is a code or a name: TML101, graph-kept-in-container. `torchmemlint rules` lists them.
    """
    from torchmemlint.explain import explanation

    with reporting_errors():
        click.echo(explanation(code))


@main.command()
def rules() -> None:
    """List all rules: code, name, severity, whether there is a fix.

    error: memory grows until it runs out. warning: a large, sure waste. hint: small or situational, shown only when its
    code is selected. fix: safe, where one exists that computes the same; unsafe, where all may change a result.
    """
    from torchmemlint.explain import print_table
    from torchmemlint.loader import load

    with reporting_errors():
        print_table()
        for warning in load().warnings:
            click.echo(f"torchmemlint: warning: {warning}", err=True)


@main.command()
@click.option("--config", "config_file", metavar="FILE", help="Settings: a pyproject.toml or torchmemlint.toml.")
def clean(config_file: str | None) -> None:
    """Remove the cache: the folder cache-dir, or the user's."""
    from torchmemlint.cache import cache_folder, clean_folder

    with reporting_errors():
        folder = cache_folder(settings(config_file, False, "."))
        if clean_folder(folder):
            click.echo(f"removed {folder}", err=True)


def settings(config_file: str | None, isolated: bool, start: str) -> Config:
    """The settings of a run. Raises ConfigError."""
    from torchmemlint.config import Config, discover, load

    if isolated:
        return Config()
    return load(config_file) if config_file else discover(start)


@contextlib.contextmanager
def reporting_errors() -> Iterator[None]:
    """What goes wrong becomes one line on standard error and exit code 2; a traceback only with TORCHMEMLINT_DEBUG."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except (click.ClickException, click.exceptions.Exit):
        raise
    except Exception as error:
        if os.environ.get("TORCHMEMLINT_DEBUG"):
            raise
        click.echo(f"torchmemlint: error: {_explained(error)}", err=True)
        sys.exit(2)


def _explained(error: Exception) -> str:
    from torchmemlint.baseline import BaselineError
    from torchmemlint.changes import DiffError
    from torchmemlint.config import ConfigError
    from torchmemlint.discover import MissingPath
    from torchmemlint.loader import RuleError

    if isinstance(error, (ConfigError, MissingPath, BaselineError, DiffError, RuleError)):
        return str(error)
    return f"internal error, {type(error).__name__}: {error} (TORCHMEMLINT_DEBUG=1 shows where)"
