"""Finds the rules: the modules of `torchmemlint.rules`, and what other packages name in the entry-point group
`torchmemlint.rules`. Nothing is registered by hand, and nothing imports a rule by name."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from types import ModuleType
from typing import NamedTuple

from torchmemlint.registry import Rule

GROUP = "torchmemlint.rules"
_CODE = re.compile(r"[A-Z]{3,8}[0-9]{3,4}")


class RuleError(Exception):
    """The rules can't be loaded; the message says what to do."""


class Loaded(NamedTuple):
    """All rules, sorted by code, and one sentence for each rule of another package that could not be used."""

    rules: tuple[type[Rule], ...]
    warnings: tuple[str, ...]


def load_rules() -> list[type[Rule]]:
    """Every rule class, sorted by code. Raises RuleError when the own rules are missing or two share a code."""
    return list(load().rules)


@functools.cache
def load() -> Loaded:
    """The rules and the warnings about foreign ones, found once per process. Raises RuleError as `load_rules`."""
    rules = _unique(own_rules())
    warnings: list[str] = []
    for entry in sorted(metadata.entry_points(group=GROUP), key=lambda e: (e.name, e.value)):
        try:
            _add_foreign(rules, _foreign(entry))
        except Exception as error:  # whatever breaks in someone else's package must not stop the run
            reason = str(error).strip() or type(error).__name__
            warnings.append(f"rules of `{entry.value}` (entry point {entry.name}) are left out: {reason}")
    return Loaded(tuple(rules[code] for code in sorted(rules)), tuple(warnings))


def foreign_files() -> list[str]:
    """The source files of other packages' rules, with what those packages have loaded: what such rules find may change
    with them."""
    modules = {rule.__module__ for rule in load().rules if not rule.__module__.startswith(f"{GROUP}.")}
    packages = {module.partition(".")[0] for module in modules}
    loaded = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] in packages]
    return sorted({file for module in loaded if (file := getattr(module, "__file__", None))})


def own_rules() -> Iterator[type[Rule]]:
    """The rules in the modules tml*.py of `torchmemlint.rules`, in the order of the file names."""
    try:
        package = importlib.import_module(GROUP)
    except ModuleNotFoundError as error:
        if error.name != GROUP:
            raise
        raise RuleError("the rules are not installed: run `pip install -e .` in the checkout") from None
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
        if module.name.startswith("tml"):
            yield from rules_in(importlib.import_module(f"{GROUP}.{module.name}"))


def rules_in(module: ModuleType) -> Iterator[type[Rule]]:
    """The rule classes that `module` itself defines, in the order of their definition; no bases without a code."""
    for candidate in vars(module).values():
        if _is_rule(candidate) and candidate.__module__ == module.__name__ and hasattr(candidate, "code"):
            yield candidate


def _is_rule(candidate: object) -> bool:
    return inspect.isclass(candidate) and issubclass(candidate, Rule) and candidate is not Rule


def _foreign(entry: metadata.EntryPoint) -> list[type[Rule]]:
    """What an entry point names: a Rule class, or a module with some. Raises RuleError for anything else."""
    target = entry.load()
    if _is_rule(target):
        found = [target]
    elif isinstance(target, ModuleType):
        found = list(rules_in(target))
    else:
        raise RuleError("it is neither a module nor a subclass of torchmemlint.api.Rule")
    if not found:
        raise RuleError("the module defines no rule")
    for rule in found:
        _validate(rule)
    return found


def _validate(rule: type[Rule]) -> None:
    code = getattr(rule, "code", None)
    if not isinstance(code, str) or not _CODE.fullmatch(code):
        raise RuleError(f"{rule.__name__} needs a code such as ABC123, not {code!r}")
    if not isinstance(getattr(rule, "name", None), str):
        raise RuleError(f"{rule.__name__} ({code}) has no name")
    if not any(True for _ in rule.subscriptions()):
        raise RuleError(f"{rule.__name__} ({code}) has no method marked with @on(...)")


def _unique(found: Iterable[type[Rule]]) -> dict[str, type[Rule]]:
    rules: dict[str, type[Rule]] = {}
    for rule in found:
        _validate(rule)
        _add(rules, rule)
    return rules


def _add_foreign(rules: dict[str, type[Rule]], found: list[type[Rule]]) -> None:
    """Add all of an entry point's rules or, when one code is taken, none of them."""
    added = dict(rules)
    for rule in found:
        _add(added, rule)
    rules.update(added)


def _add(rules: dict[str, type[Rule]], rule: type[Rule]) -> None:
    taken = rules.get(rule.code)
    if taken is not None and taken is not rule:
        raise RuleError(f"two rules have the code {rule.code}: {_where(taken)} and {_where(rule)}")
    rules[rule.code] = rule


def _where(rule: type[Rule]) -> str:
    return f"{rule.__module__}.{rule.__name__}"
