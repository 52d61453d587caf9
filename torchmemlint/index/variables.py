"""What a file's top level makes its variables of, where the form tells: `LIMIT = 3`, `NAMES = ["a", "b"]`."""

from __future__ import annotations

import ast

from torchmemlint.index.constructors import COLLECTION, CONSTANT
from torchmemlint.index.names import written
from torchmemlint.index.walk import Collected

PLAIN_MAKERS = frozenset({"logging.getLogger", "argparse.ArgumentParser", "re.compile"})
DISPLAYS: dict[type[ast.expr], str] = {ast.List: "list", ast.Tuple: "tuple", ast.Dict: "dict"}
LITERAL = (ast.Constant, ast.expr_context, ast.UnaryOp, ast.unaryop, *DISPLAYS)


def variables(found: Collected) -> dict[str, str]:
    """What every assignment gives a variable: CONSTANT for plain data, COLLECTION and its type for a display of
    literals. Variables of which the form does not tell, or that are bound in other ways too, are left out, and empty
    displays: the top level may fill them."""
    told: dict[str, str | None] = {}
    for name, value in found.assigned:
        form = _form(value, found.imports) if name not in found.otherwise else None
        told[name] = form if told.get(name, form) == form else None
    return {name: form for name, form in told.items() if form is not None}


def _form(value: ast.expr, imports: dict[str, str]) -> str | None:
    if isinstance(value, ast.Constant):
        return CONSTANT
    if isinstance(value, ast.Call):
        head, dot, rest = (written(value.func) or "").partition(".")
        return CONSTANT if f"{imports.get(head)}{dot}{rest}" in PLAIN_MAKERS else None
    if type(value) not in DISPLAYS or not any(isinstance(part, ast.expr) for part in ast.iter_child_nodes(value)):
        return None
    return COLLECTION + DISPLAYS[type(value)] if all(isinstance(n, LITERAL) for n in ast.walk(value)) else None
