"""Settings: `[tool.torchmemlint]` of pyproject.toml, or torchmemlint.toml, checked key by key."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH100

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Codes = tuple[str, ...]
Names = tuple[str, ...]


class ConfigError(Exception):
    """Settings that can't be used: the message names the file, the place and what would be right."""


@dataclass(frozen=True)
class Config:
    """All settings of a run: plain data, picklable. Globs are relative to `root`."""

    select: Codes = ()  # empty: every rule
    ignore: Codes = ()
    extend_select: Codes = ()
    per_file_ignores: tuple[tuple[str, Codes], ...] = ()
    exclude: Names | None = None  # None: the built-in list
    extend_exclude: Names = ()
    unsafe_fixes: bool = False
    hints: bool = False
    cache_dir: str | None = None
    modules: Names = ()  # names and classes to be treated as models
    losses: Names = ()  # names and functions to be treated as losses
    no_grad_functions: Names = ()  # functions known to run without grad
    root: str = ""  # folder of the file they come from; empty: the working directory
    path: str | None = None  # the file they come from


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError("a list of strings")
    return tuple(value)


def _codes(value: Any) -> Codes:
    return tuple(code.strip().upper() for code in _strings(value))


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a string")
    return value


def _globs(value: Any) -> tuple[tuple[str, Codes], ...]:
    try:
        return tuple((glob, _codes(codes)) for glob, codes in value.items())
    except (AttributeError, TypeError):
        raise TypeError("a table of glob = [codes]") from None


_KEYS: dict[str, Callable[[Any], Any]] = {
    "select": _codes,
    "ignore": _codes,
    "extend-select": _codes,
    "per-file-ignores": _globs,
    "exclude": _strings,
    "extend-exclude": _strings,
    "unsafe-fixes": _flag,
    "hints": _flag,
    "cache-dir": _text,
    "modules": _strings,
    "losses": _strings,
    "no-grad-functions": _strings,
}


def nearest(word: str, known: Iterable[str]) -> str:
    """The question whether the known word most like `word` was meant, or an empty string."""
    import difflib  # only mistakes need it

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean `{close[0]}`?" if close else ""


def from_table(table: Mapping[str, Any], path: str) -> Config:
    """The settings in a parsed table. Raises ConfigError for unknown keys and wrong types."""
    values: dict[str, Any] = {"root": str(Path(path).parent), "path": path}
    for key, value in table.items():
        if key not in _KEYS:
            raise ConfigError(f"{path}: unknown key `{key}`{nearest(key, _KEYS)}")
        try:
            values[key.replace("-", "_")] = _KEYS[key](value)
        except TypeError as error:
            raise ConfigError(f"{path}: `{key}` must be {error}, not {_shown(value)}") from None
    return Config(**values)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _parse(path: Path) -> dict[str, Any]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid UTF-8 at byte {error.start}") from None
    try:
        table: dict[str, Any] = tomllib.loads(text.replace("\r\n", "\n"))
        return table
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_toml_message(path, text, str(error))) from None


def _toml_message(path: Path, text: str, message: str) -> str:
    """`file:line:column: not valid TOML: reason`, whatever the parser says of the end of the text."""
    found = re.search(r"\s*\(at line (\d+), column (\d+)\)$", message)
    lines = text.splitlines() or [""]
    row, column = (found[1], found[2]) if found else (str(len(lines)), str(len(lines[-1]) + 1))
    reason = re.sub(r"\s*\(at [^)]*\)$", "", message)
    return f"{path}:{row}:{column}: not valid TOML: {reason}"


def load(path: str | os.PathLike[str]) -> Config:
    """The settings of a named file, which must be there. Raises ConfigError."""
    path = Path(path)
    table: Any = _parse(path)
    if path.name == "pyproject.toml" or isinstance(table.get("tool"), dict):
        table = table.get("tool", {})
        table = table.get("torchmemlint", {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: `tool.torchmemlint` must be a table, not {_shown(table)}")
    return from_table(table, str(path))


def _concerns(path: Path) -> bool:
    """Is `[tool.torchmemlint]` in this pyproject.toml? A broken file is ours when it mentions the table."""
    try:
        tool = _parse(path).get("tool", {})
    except ConfigError:
        return b"torchmemlint" in _bytes(path)
    return isinstance(tool, dict) and "torchmemlint" in tool


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def find(start: str | os.PathLike[str]) -> Path | None:
    """The nearest file with settings in `start` or above it; torchmemlint.toml goes before pyproject.toml."""
    folder = Path(os.path.abspath(start))
    for parent in (folder, *folder.parents):
        own, project = parent / "torchmemlint.toml", parent / "pyproject.toml"
        if own.is_file():
            return own
        if project.is_file() and _concerns(project):
            return project
    return None


def discover(start: str | os.PathLike[str]) -> Config:
    """The settings that hold for `start`; the built-in ones where no file is found. Raises ConfigError."""
    folder = Path(start)
    found = find(folder if folder.is_dir() else folder.parent)
    return load(found) if found else Config()


def merge(config: Config, **changes: Any) -> Config:
    """`config` with the command line's values; None leaves a setting as it is.

    `select` replaces select and extend-select and lifts equal entries of ignore; `ignore` and `extend_select` add."""
    known = {f.name for f in fields(Config)}
    values = {name: value for name, value in changes.items() if value is not None and name in known}
    if "select" in values:
        values.setdefault("extend_select", ())
        kept = tuple(code for code in config.ignore if code not in values["select"])
        values["ignore"] = kept + tuple(values.get("ignore", ()))
    else:
        values["ignore"] = config.ignore + tuple(values.get("ignore", ()))
        values["extend_select"] = config.extend_select + tuple(values.get("extend_select", ()))
    return replace(config, **values)
