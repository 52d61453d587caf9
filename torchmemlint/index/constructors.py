"""What a constructor makes its object's attributes of, where one call tells: `self.layer = nn.Linear(3, 4)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchmemlint.index.names import written
from torchmemlint.index.walk import FunctionNode, statements, target_names


def made(node: FunctionNode) -> dict[str, str]:
    """Attribute -> the callee as it is written, for those that every assignment in a constructor gives the same."""
    if not node.args.args:
        return {}
    own = node.args.args[0].arg
    found: dict[str, str | None] = {}
    local = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
    for statement in statements(node.body):
        for target, value in _assignments(statement):
            local.update(target_names(target))
            for name in _attributes(target, own):
                callee = _callee(value) if isinstance(target, ast.Attribute) else None
                found[name] = callee if found.get(name, callee) == callee else None
    return {
        name: callee for name, callee in found.items() if callee is not None and callee.partition(".")[0] not in local
    }


def _assignments(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """(target, value) of a statement; None where the value is a part or the outcome of something."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield target, statement.value
    elif isinstance(statement, ast.AnnAssign):
        if statement.value is not None:
            yield statement.target, statement.value
    elif isinstance(statement, (ast.AugAssign, ast.For, ast.AsyncFor)):
        yield statement.target, None
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        for item in statement.items:
            if item.optional_vars is not None:
                yield item.optional_vars, None
    elif isinstance(statement, ast.Delete):
        for target in statement.targets:
            yield target, None


def _attributes(target: ast.expr, own: str) -> Iterable[str]:
    """The attributes of the object that a target binds."""
    if isinstance(target, ast.Attribute):
        return [target.attr] if isinstance(target.value, ast.Name) and target.value.id == own else []
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for element in target.elts for name in _attributes(element, own)]
    return _attributes(target.value, own) if isinstance(target, ast.Starred) else []


def _callee(value: ast.expr | None) -> str | None:
    return written(value.func) if isinstance(value, ast.Call) else None
