"""The run that the README shows: the program stands there, what `check` says of it is filled in."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import click

_SHOWN = re.compile(
    r"(?P<program>```python\n# (?P<name>\w+\.py)\n(?P<code>.*?)```\n+```text\n\$ torchmemlint check \w+\.py\n)"
    r".*?(?P<end>```)",
    re.DOTALL,
)


def with_run(text: str) -> str:
    """`text` with the output renewed in the first pair of a `python` block, whose first line is a comment with a file
    name, and a `text` block that starts with the command. Raises ClickException when there is none."""
    shown = _SHOWN.search(text)
    if shown is None:
        raise click.ClickException("README.md needs a `python` block followed by a `text` block with its check")
    output = _check(shown["name"], f"# {shown['name']}\n{shown['code']}")
    return f"{text[: shown.start()]}{shown['program']}{output}{shown['end']}{text[shown.end() :]}"


def _check(name: str, code: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, name).write_text(code, encoding="utf-8")
        command = [sys.executable, "-m", "torchmemlint", "check", "--isolated", "--no-cache", name]
        run = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=120, check=False)
    if run.returncode != 1:
        raise click.ClickException(f"nothing is found in the README's {name}: {run.stdout}{run.stderr}")
    return run.stdout.rstrip() + "\n"
