"""Which findings are shown: codes and code prefixes selected, ignored, ignored by file; hints only on demand."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH100

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from torchmemlint.config import Config, ConfigError, nearest
from torchmemlint.findings import Diagnostic, Severity

if TYPE_CHECKING:
    import pathspec

    from torchmemlint.registry import Rule

SPECIAL = {"TML000": "unreadable-file", "TML001": "unused-suppression", "TML999": "internal-error"}
"""Findings of the tool itself; TML000 and TML999 are shown whatever is selected, unless they are ignored."""

ALWAYS = frozenset({"TML000", "TML999"})


def strength(code: str, prefixes: Iterable[str]) -> int:
    """Length of the longest prefix that covers `code`; ALL counts 1, no match 0."""
    return max((1 if p == "ALL" else len(p) for p in prefixes if p == "ALL" or code.startswith(p)), default=0)


@dataclass(frozen=True)
class Selection:
    """The choice that a Config makes. The longer prefix wins; at equal length ignoring does."""

    config: Config

    @cached_property
    def _asked(self) -> tuple[str, ...]:
        return self.config.select + self.config.extend_select

    def runs(self, code: str) -> bool:
        """Can a finding of this code be shown at all (per-file ignores aside)?"""
        config = self.config
        ignored = strength(code, config.ignore)
        if code in ALWAYS:
            return not ignored
        chosen = strength(code, self._asked) or (0 if config.select else 1)
        return chosen > ignored or (chosen > 0 and not ignored)

    def wants(self, rule: type[Rule]) -> bool:
        """Can any finding of the rule be shown? One that only hints need not run where hints are hidden."""
        return self.runs(rule.code) and (rule.severity is not Severity.HINT or self.hints(rule.code))

    def hints(self, code: str) -> bool:
        """Are hints of this code shown: because its code was asked for, or `hints` is on?"""
        return self.config.hints or bool(strength(code, self._asked))

    def shows(self, diagnostic: Diagnostic) -> bool:
        """Is this finding reported? Hints are when their code was asked for, or `hints` is on."""
        code = diagnostic.code
        if not self.runs(code) or self._ignored_in_file(diagnostic.filename, code):
            return False
        return diagnostic.severity is not Severity.HINT or self.hints(code)

    def _ignored_in_file(self, filename: str, code: str) -> bool:
        entries = self.config.per_file_ignores
        return any(strength(code, codes) and _matches(glob, self.config.root, filename) for glob, codes in entries)


@lru_cache(maxsize=256)
def _spec(glob: str) -> pathspec.GitIgnoreSpec:
    import pathspec

    return pathspec.GitIgnoreSpec.from_lines([glob])


@lru_cache(maxsize=4096)
def _matches(glob: str, root: str, filename: str) -> bool:
    """Does a gitignore-like glob relative to `root` cover the file?"""
    relative = os.path.relpath(os.path.abspath(filename), os.path.abspath(root or "."))
    if relative.startswith(".."):
        relative = PurePath(filename).name
    return _spec(glob).match_file(PurePath(relative).as_posix())


def check_codes(config: Config, known: Collection[str]) -> None:
    """Raise ConfigError for a code or prefix in `config` that covers no known rule."""
    where = f"{config.path}: " if config.path else ""
    groups = [config.select, config.ignore, config.extend_select, *(codes for _, codes in config.per_file_ignores)]
    for code in (code for group in groups for code in group):
        if code != "ALL" and not any(k.startswith(code) for k in known):
            raise ConfigError(f"{where}unknown rule code `{code}`{nearest(code, known)}")
