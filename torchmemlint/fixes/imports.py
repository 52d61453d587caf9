"""How a file spells a name, and adding an import."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from torchmemlint.fixes.lines import line_end
from torchmemlint.fixes.plan import Change, Ground, Plan, Refused, Step

if TYPE_CHECKING:
    from torchmemlint.flow.units import Unit


_GLOBAL = re.compile(r"(?:^|[;:])\s*global\b", re.MULTILINE)


@dataclass(frozen=True)
class _Layout:
    """The top level of a module: rows are 1-based."""

    imported: dict[str, str]  # name -> dotted target, for imports that always run and are not rebound
    bound: frozenset[str]  # every name bound at the top level
    last_row: int  # imports can be added behind this row; 0: before everything
    first_row: int  # the first statement's row, decorators included; 0: there is none


@lru_cache(maxsize=8)
def _layout(text: str) -> _Layout:
    """Read the module's top level. Raises SyntaxError or ValueError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        body = ast.parse(text).body
    targets: dict[str, set[str]] = {}
    for name, target in _always_imported(body):
        targets.setdefault(name, set()).add(target)
    others = set(_bound(body, _GLOBAL.search(text) is not None))
    imported = {name: min(found) for name, found in targets.items() if len(found) == 1 and name not in others}
    decorators = getattr(body[0], "decorator_list", []) if body else []
    first_row = min(node.lineno for node in [body[0], *decorators]) if body else 0
    return _Layout(imported, frozenset(targets) | others, _last_header_row(body), first_row)


def _always_imported(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement in body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                target = alias.name if alias.asname else alias.name.partition(".")[0]
                yield alias.asname or target, target
        elif isinstance(statement, ast.ImportFrom) and not statement.level and statement.module:
            for alias in statement.names:
                yield alias.asname or alias.name, f"{statement.module}.{alias.name}"


def _bound(body: list[ast.stmt], declared: bool) -> Iterator[str]:
    """Names bound at the top level otherwise than by imports that always run, at any depth of `if` and `try`;
    `declared`: also those that functions declare global."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
            yield from _declared_global(node) if declared else ()
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            always = node in body and not (isinstance(node, ast.ImportFrom) and node.level)
            yield from () if always else (a.asname or a.name.partition(".")[0] for a in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            yield node.id
        waiting.extend(ast.iter_child_nodes(node))


def _declared_global(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Global):
            yield from inner.names


def _last_header_row(body: list[ast.stmt]) -> int:
    """The last row of the docstring and the imports that the module begins with."""
    row = 0
    for i, statement in enumerate(body):
        docstring = i == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        shares_row = row > 0 and statement.lineno <= row
        if not (docstring or shares_row or isinstance(statement, (ast.Import, ast.ImportFrom))):
            break
        row = statement.end_lineno or statement.lineno
    return row


def spell(unit: Unit, dotted: str) -> str | None:
    """How the unit's code can write `dotted` with what the module imports at its top level, always and under a name
    that nothing else binds; None where it cannot."""
    try:
        layout = _layout(unit.source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    imports = {n: t for n, t in unit.index.imports.items() if layout.imported.get(n) == t}
    text = replace(unit.index, imports=imports).spelling(dotted)
    if text is None or _shadowed(unit, text.partition(".")[0]):
        return None
    return text


def _shadowed(unit: Unit, name: str) -> bool:
    """Whether the unit's function may bind the name itself."""
    if not unit.function.name:
        return False
    if any(p.name == name for p in unit.function.parameters):
        return True
    start, end = unit.function.first_line, unit.function.end_line
    return name in _local_bindings("\n".join(unit.source.line(row) for row in range(start, end + 1)))


@lru_cache(maxsize=64)
def _local_bindings(text: str) -> frozenset[str]:
    indented = text[:1] in (" ", "\t", "\f")
    try:
        tree = ast.parse(f"if 1:\n{text}" if indented else text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(a.asname or a.name.partition(".")[0] for a in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return frozenset(names)


@dataclass(frozen=True)
class _AddImport(Step):
    text: str

    def changes(self, place: Ground) -> Iterator[Change]:
        try:
            layout = _layout(place.unit.source.text)
            wanted = dict(_always_imported(ast.parse(self.text).body))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise Refused("cannot be parsed") from None
        if not wanted:
            raise Refused("not an import")
        if all(layout.imported.get(name) == target for name, target in wanted.items()):
            return
        if layout.bound & set(wanted) or any(_shadowed(place.unit, name) for name in wanted):
            raise Refused("the name is taken")
        yield self._behind(place, layout.last_row, layout.first_row)

    def _behind(self, place: Ground, row: int, first_row: int) -> Change:
        starts = place.unit.source.line_starts
        if row == 0:
            at = starts[max(first_row, 1) - 1]
            return Change(at, at, f"{self.text}\n")
        at = line_end(place, row)
        closed = place.data[at - 1 : at] in (b"\n", b"\r")
        return Change(at, at, f"{self.text}\n" if closed else f"\n{self.text}")


def add_import(unit: Unit, text: str) -> Plan:
    """Add an import behind the module's docstring and first imports; nothing to do where it is there already. Not made
    where the module or the unit's function binds the name to something else."""
    return Plan(f"Add `{text}`", (_AddImport(text),))
