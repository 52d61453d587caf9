"""What a method makes its object's attributes of, where the form tells: `self.layer = nn.Linear(3, 4)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchmemlint.index.names import written
from torchmemlint.index.walk import FunctionNode, statements, target_names

CONSTANT, PARAMETER, COLLECTION = "=", "=:", "=["


def made(node: FunctionNode) -> dict[str, str]:
    """What every assignment in a method gives an attribute: the callee as it is written, CONSTANT for plain data,
    PARAMETER and its name for a parameter, COLLECTION and its type for a list or dict into which the method puts
    nothing. Attributes of which the form does not tell are left out."""
    if not node.args.args:
        return {}
    own = node.args.args[0].arg
    found: dict[str, str | None] = {}
    given = {arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    local = given | {arg.arg for arg in (node.args.vararg, node.args.kwarg) if arg is not None}
    rebound: set[str] = set()
    for statement in statements(node.body):
        for target, value in _assignments(statement):
            rebound.update(target_names(target))
            for name in _attributes(target, own):
                form = _form(value, given) if isinstance(target, ast.Attribute) else None
                found[name] = form if found.get(name, form) == form else None
    told = {name: form for name, form in found.items() if form is not None and _stands(form, local, rebound)}
    used = _read(node, own) if any(form.startswith(COLLECTION) for form in told.values()) else ()
    return {name: form for name, form in told.items() if not form.startswith(COLLECTION) or name not in used}


def _read(node: FunctionNode, own: str) -> set[str]:
    """The attributes of the object that a method reads, to put something into them or otherwise."""
    read = (n for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load))
    return {n.attr for n in read if isinstance(n.value, ast.Name) and n.value.id == own}


def _stands(form: str, local: set[str], rebound: set[str]) -> bool:
    """Does the name in a form mean what the module's level or the caller gave it?"""
    if form.startswith(PARAMETER):
        return form.removeprefix(PARAMETER) not in rebound
    return form == CONSTANT or form.startswith(COLLECTION) or form.partition(".")[0] not in local | rebound


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


def _form(value: ast.expr | None, given: set[str]) -> str | None:
    if isinstance(value, ast.Call):
        return written(value.func)
    if isinstance(value, ast.Constant):
        return CONSTANT
    if isinstance(value, ast.List) and not value.elts:
        return COLLECTION + "list"
    if isinstance(value, ast.Dict) and not value.keys:
        return COLLECTION + "dict"
    return PARAMETER + value.id if isinstance(value, ast.Name) and value.id in given else None
