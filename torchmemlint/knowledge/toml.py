"""Read a TOML file with the parser this Python has."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_toml(path: Path) -> dict[str, Any]:
    """The file's contents; raises OSError or TOMLDecodeError."""
    with path.open("rb") as file:
        return dict(tomllib.load(file))
