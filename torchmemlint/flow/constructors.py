"""What the constructor of a module could build as well as its forward: constants of attributes that it alone sets.

The questions are asked for a fix alone, so that they parse the file anew."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.flow.graph import Op
from torchmemlint.flow.patterns import bare
from torchmemlint.index.model import ClassInfo

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow

BUILTINS = frozenset({"float", "int", "max", "min", "len"})
OTHER = (ast.Lambda, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Starred)
TAKEN = frozenset(
    """
    apply bfloat16 bool buffers children compile cpu cuda double eval extra_repr float forward half ipu load_state_dict
    modules mtia parameters share_memory state_dict to train training type xpu zero_grad
""".split()
)
"""What every module has under a name that a local variable may bear, too."""


@dataclass(frozen=True)
class Constructor:
    """`__init__` of a module's class, and the names that it and a method may use."""

    init: FunctionFlow
    own: str
    body: Sequence[ast.stmt]
    stores: Counter[str]  # attributes, and how often they are bound
    names: frozenset[str]  # all that the class calls its attributes and methods
    free: frozenset[str]  # imports that the constructor and the forward see


def constructor(flow: FunctionFlow) -> Constructor | None:
    """The constructor of the method's class; None where the class has another base than nn.Module or none itself."""
    owner = flow.program.project.owner(flow.info)
    if owner is None or owner.bases != ("torch.nn.Module",) or owner.path != flow.info.path:
        return None
    info = flow.program.project.at(owner.path, owner.methods.get("__init__"))
    init = flow.program.flow(info) if info is not None and info.owner == owner.id else None
    if init is None or not info or not info.parameters or info.parameters[0].name != flow.info.parameters[0].name:
        return None
    module = ast.parse(flow.unit.source.text)
    held = _class_at(module, owner)
    function = _function_at(held, info.line) if held is not None else None
    if held is None or function is None:
        return None
    own = info.parameters[0].name
    stores = Counter([*_stored(held), *_stored(module, own)])
    forward = _function_at(held, flow.info.line)
    local = {name for f in (function, forward) if f is not None for name in _bound(f)}
    free = frozenset(flow.unit.index.imports) - local
    return Constructor(init, own, function.body, stores, frozenset(_named(held)), free)


def _stored(tree: ast.AST, without: str = "") -> Iterator[str]:
    """The attributes that are bound or deleted in a tree, those of the variable `without` left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and _name_of(node.value) != without:
            yield node.attr


def _name_of(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


def _class_at(module: ast.Module, owner: ClassInfo) -> ast.ClassDef | None:
    return next((n for n in module.body if isinstance(n, ast.ClassDef) and n.name == owner.qualname), None)


def _function_at(held: ast.ClassDef, line: int) -> ast.FunctionDef | None:
    return next((n for n in held.body if isinstance(n, ast.FunctionDef) and n.lineno == line), None)


def _bound(function: ast.FunctionDef) -> Iterator[str]:
    """The names that a function binds anywhere in it."""
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)


def _named(held: ast.ClassDef) -> Iterator[str]:
    for node in ast.walk(held):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value  # names in `register_buffer`, `setattr`, `__slots__`
    for statement in held.body:
        yield from (n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(statement, ast.Assign))


def free_name(op: Op, taken: frozenset[str]) -> str | None:
    """A name for the buffer: the variable's, or what the maker suggests."""
    binds = [use.path for use in op.uses if use.name == "bind" and use.path and use.path.isidentifier()]
    wanted = binds[0] if binds else {"arange": "positions", "eye": "identity", "tensor": "table"}.get(bare(op), "mask")
    return next((n for n in (wanted, f"{wanted}_constant") if n not in taken and n not in TAKEN), None)


def constant(text: str, place: Constructor) -> str | None:
    """The expression as the constructor can write it: without a device that only the forward knows; None where it needs
    more than literals, imports and attributes."""
    try:
        tree = _parsed(text)
    except SyntaxError:
        return None
    dropped = False
    for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
        kept = [k for k in call.keywords if k.arg != "device" or _plain(k.value, place)]
        dropped = dropped or len(kept) < len(call.keywords)
        call.keywords = kept
        if any(k.arg in (None, "out", "requires_grad") for k in kept):
            return None
    if not _plain(tree, place) or "#" in text or dropped and "\n" in text:
        return None
    return ast.unparse(tree) if dropped else text


def _parsed(text: str) -> ast.expr:
    return ast.parse(f"(\n{text}\n)", mode="eval").body


def _plain(node: ast.expr, place: Constructor) -> bool:
    """Is it made of literals, imports and attributes of self that the constructor alone sets?"""
    own = _attributes(node, place)
    if any(place.stores[attribute] != 1 for attribute in own) or any(isinstance(p, OTHER) for p in ast.walk(node)):
        return False
    names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
    return names.count(place.own) == len(own) and set(names) <= {place.own} | place.free | BUILTINS


def _attributes(node: ast.expr, place: Constructor) -> list[str]:
    """The attributes of self that an expression reads, each as often as it does."""
    parts = (part for part in ast.walk(node) if isinstance(part, ast.Attribute))
    return [part.attr for part in parts if _name_of(part.value) == place.own]


def behind(place: Constructor, text: str) -> cst.CSTNode | None:
    """The statement of the constructor after which all that the text reads is there."""
    wanted = set(_attributes(_parsed(text), place))
    ready = [i for i, statement in enumerate(place.body) if _constructs(statement)]
    for attribute in wanted:
        ready += [i for i, statement in enumerate(place.body) if _sets(statement, place.own, attribute)]
    node = place.init.node
    block = node.body.body if isinstance(node, cst.FunctionDef) else ()
    if len(ready) != len(wanted) + 1 or len(block) != len(place.body):
        return None
    return block[max(ready)]


def _constructs(statement: ast.stmt) -> bool:
    """`super().__init__()`"""
    return isinstance(statement, ast.Expr) and ast.unparse(statement).partition("(")[0] in (
        "super",
        "nn.Module.__init__",
    )


def _sets(statement: ast.stmt, own: str, attribute: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    return any(isinstance(t, (ast.Attribute, ast.Tuple)) and f"{own}.{attribute}" in _targets(t) for t in targets)


def _targets(target: ast.expr) -> list[str]:
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return [ast.unparse(part) for part in parts]
