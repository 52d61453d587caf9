"""The walk over a module's statements outside functions: what they define, import and bind; never into expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Raise, ast.Import, ast.ImportFrom)
"""The most frequent statements without a block."""


@dataclass(slots=True)
class Definition:
    """A function or class found by the walk; infos are made once all imports are known."""

    node: FunctionNode | ast.ClassDef
    qualname: str
    owner: Definition | None
    id: str = ""


@dataclass(slots=True)
class Collected:
    """What the walk over the statements finds."""

    definitions: list[Definition] = field(default_factory=list)
    imports: dict[str, str] = field(default_factory=dict)
    inner: dict[str, str] = field(default_factory=dict)  # imported inside functions and classes
    shadowed: dict[str, str] = field(default_factory=dict)  # imports that a definition of the same name replaces
    stars: dict[str, None] = field(default_factory=dict)
    import_rows: list[tuple[int, int]] = field(default_factory=list)  # line slices of module-level imports
    bound: set[str] = field(default_factory=set)
    assigned: list[tuple[str, ast.expr]] = field(default_factory=list)
    otherwise: set[str] = field(default_factory=set)  # bound at module level, and not by an assignment to the name


def first_line(node: FunctionNode | ast.ClassDef) -> int:
    return min((d.lineno for d in node.decorator_list), default=node.lineno)


def statement_line(node: ast.stmt) -> int:
    return first_line(node) if isinstance(node, (*FUNCTION, ast.ClassDef)) else node.lineno


class Walker:
    """Walks the statements outside functions, class bodies included, and notes what they bind."""

    def __init__(self, found: Collected, module: str, is_package: bool) -> None:
        self.found = found
        self.package = module.split(".") if is_package else module.split(".")[:-1]

    def block(self, body: Iterable[ast.stmt], owner: Definition | None, sure: bool) -> None:
        """Statements in order; `sure` is false in except and else branches, which replace no earlier binding."""
        for node in body:
            if isinstance(node, (*FUNCTION, ast.ClassDef)):
                self._definition(node, owner, sure)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node, owner, sure)
            elif owner is None:
                self._bindings(node)
            for branch, certain in _branches(node):
                self.block(branch, owner, sure and certain)

    def inside(self, body: Iterable[ast.stmt]) -> None:
        """Imports and `global` declarations of a function's statements, nested functions included."""
        for node in statements(body):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for name, target in self._targets(node):
                    self.found.inner.setdefault(name, target)
            elif isinstance(node, ast.Global):
                self.found.bound.update(node.names)

    def _definition(self, node: FunctionNode | ast.ClassDef, owner: Definition | None, sure: bool) -> None:
        found, name = self.found, node.name
        qualname = name if owner is None else f"{owner.qualname}.{name}"
        definition = Definition(node, qualname, owner)
        found.definitions.append(definition)
        if owner is None:
            self._bound([name])
            if sure and name in found.imports:
                found.shadowed[name] = found.imports.pop(name)
        if isinstance(node, ast.ClassDef):
            self.block(node.body, definition, sure)

    def _import(self, node: ast.Import | ast.ImportFrom, owner: Definition | None, sure: bool) -> None:
        found = self.found
        for name, target in self._targets(node):
            if owner is not None:
                found.inner.setdefault(name, target)
            elif sure or name not in found.bound:
                found.imports[name] = target
        if owner is None:
            found.import_rows.append((node.lineno - 1, node.end_lineno or node.lineno))
            self._bound(name for name, _ in self._targets(node))

    def _targets(self, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
        """(local name, absolute target) pairs; star imports are noted instead."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
            return
        base = node.module or ""
        if node.level:
            above = self.package[: max(0, len(self.package) - node.level + 1)]
            base = ".".join([*above, base] if base else above)
        for alias in node.names:
            if alias.name == "*":
                self.found.stars[base] = None
            else:
                yield alias.asname or alias.name, f"{base}.{alias.name}" if base else alias.name

    def _bindings(self, node: ast.stmt) -> None:
        found = self.found
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._target(target, node.value)
        elif isinstance(node, ast.AnnAssign):
            self._target(node.target, node.value)
        elif isinstance(node, (ast.AugAssign, ast.For, ast.AsyncFor)):
            self._bound(target_names(node.target))
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                self._bound(target_names(item.optional_vars))
        elif isinstance(node, ast.Match):
            self._bound(_captures(node))
        elif isinstance(node, ast.Global):
            found.bound.update(node.names)
        elif type(node).__name__ == "TypeAlias":
            self._bound(target_names(getattr(node, "name", None)))

    def _target(self, target: ast.expr, value: ast.expr | None) -> None:
        """A target of an assignment; of one that only declares there is no value."""
        if not isinstance(target, ast.Name):
            self._bound(target_names(target))
            return
        self.found.bound.add(target.id)
        if value is not None:
            self.found.assigned.append((target.id, value))

    def _bound(self, names: Iterable[str]) -> None:
        for name in names:
            self.found.bound.add(name)
            self.found.otherwise.add(name)


def _branches(node: ast.stmt) -> Iterator[tuple[list[ast.stmt], bool]]:
    """The blocks of a compound statement other than a definition; false for those that are alternatives."""
    if isinstance(node, (*FUNCTION, ast.ClassDef)):
        return
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if block:
            yield block, name != "orelse" or isinstance(node, (ast.Try, ast.For, ast.While))
    for name in ("handlers", "cases"):
        for part in getattr(node, name, ()):
            yield part.body, False


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements at any depth, in order, those of nested definitions included."""
    stack = list(body)[::-1]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, _SIMPLE):
            continue
        blocks = [node.body] if isinstance(node, (*FUNCTION, ast.ClassDef)) else [b for b, _ in _branches(node)]
        for block in reversed(blocks):
            stack.extend(reversed(block))


def target_names(target: ast.expr | None) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from target_names(element)
    elif isinstance(target, ast.Starred):
        yield from target_names(target.value)


def _captures(node: ast.Match) -> Iterator[str]:
    for case in node.cases:
        for part in ast.walk(case.pattern):
            name = getattr(part, "rest", None) if isinstance(part, ast.MatchMapping) else getattr(part, "name", None)
            if isinstance(name, str):
                yield name
