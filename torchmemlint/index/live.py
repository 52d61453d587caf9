"""Through which names an expression is live: may its value be a tensor, or hold one?"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torchmemlint.index.marks import (
    CALLS,
    COLLECTS,
    COLUMN,
    GRAPHS,
    LOOPS,
    NEW_AXIS,
    REFERS,
    REPEATS,
    RUNS_MODULES,
    SLICES,
    TOTAL,
)
from torchmemlint.knowledge import tensor_method

if TYPE_CHECKING:
    from torchmemlint.index.sketch import Sketch

Names = frozenset[str]
LIVE: Names = frozenset({"*"})  # live whatever the names are
DEAD: Names = frozenset()

SIZES = frozenset("shape device dtype ndim requires_grad is_cuda training __name__ __class__ nbytes".split())
PLAIN_CALLS = frozenset(
    "int float str len bool range isinstance issubclass print repr type hasattr id callable open round input hash ord "
    "chr format bin hex divmod super property dir vars".split()
)
PASSING_CALLS = frozenset(
    "list tuple dict set frozenset sorted reversed zip enumerate map filter max min abs next iter getattr".split()
)
PLAIN_METHODS = frozenset(
    "item tolist size dim numel numpy element_size stride storage_offset data_ptr get_device format join split rsplit "
    "strip lstrip rstrip lower upper startswith endswith encode decode splitlines title isdigit exists mkdir is_file "
    "is_dir keys nelement is_floating_point is_contiguous parse_args add_argument".split()
)
PASSING_METHODS = frozenset(
    "backward zero_grad parameters named_parameters modules named_modules children named_children buffers train "
    "eval state_dict load_state_dict register_buffer register_parameter apply named_buffers appendleft extendleft "
    "popleft put put_nowait".split()
).union(*(dir(kind) for kind in (str, bytes, list, dict, set, frozenset, tuple, int, float)))
"""Of modules and Python's own types: they give no more than what they are called on and with holds."""
RUNNERS = frozenset(
    "functional_call checkpoint checkpoint_sequential data_parallel parallel_apply compile vmap".split()
)
"""Functions of torch that run a module which they are given."""
_HOLDING_MODULES = frozenset({"copy", "collections", "functools", "itertools"})
"""Modules of Python whose functions give what they are given, or something that holds it."""
PLAIN_MODULES = (sys.stdlib_module_names - _HOLDING_MODULES) | frozenset(
    "numpy tqdm yaml PIL cv2 matplotlib pandas scipy sklearn requests wandb".split()
)


def root(node: ast.expr) -> str | None:
    """The name that a chain of attributes, items and calls starts from."""
    while True:
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return node.id if isinstance(node, ast.Name) else None


_MAKERS = frozenset("list dict set tuple defaultdict deque OrderedDict Counter".split())


def is_fresh(node: ast.expr) -> bool:
    """Does the expression make a container that nothing else holds?"""
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
        return (node.func.id if isinstance(node.func, ast.Name) else node.func.attr) in _MAKERS
    return isinstance(node, (ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.DictComp, ast.SetComp))


def is_plain(node: ast.expr, imports: dict[str, str]) -> bool:
    """Is it a constant, or what a function of the standard library gives?"""
    if isinstance(node, ast.Call):
        return imports.get(root(node.func) or "", "").partition(".")[0] in PLAIN_MODULES
    return isinstance(node, ast.Constant) and node.value is not None


def _nothing(s: Sketch, node: ast.expr) -> Names:
    return DEAD


def _name(s: Sketch, node: ast.Name) -> Names:
    if (node.id in s.known or node.id in s.imports) and node.id not in s.bound:
        s.marks.add(REFERS + node.id)
    return frozenset({node.id})


def _attribute(s: Sketch, node: ast.Attribute) -> Names:
    if node.attr in SIZES:
        s.read(node.value)
        return DEAD
    if node.attr in s.known:
        s.marks.add(REFERS + node.attr)
    if isinstance(node.value, ast.Name):
        name = node.value.id
        return LIVE if name == s.own else DEAD if name in s.imports and name not in s.bound else frozenset({name})
    return s.read(node.value)


def _subscript(s: Sketch, node: ast.Subscript) -> Names:
    through = s.read(node.value)
    index = node.slice
    if not isinstance(index, ast.Name):
        s.mark(SLICES, through)
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if len(parts) > 1 and isinstance(parts[0], ast.Slice) and parts[0].lower is parts[0].upper is None:
            s.marks.add(COLUMN)
        if any(isinstance(part, ast.Constant) and part.value is None for part in parts):
            s.marks.add(NEW_AXIS)
    s.read(index)
    return through


def _compare(s: Sketch, node: ast.Compare) -> Names:
    through = s.children(node)
    plain = isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn))
    return DEAD if plain else through


def _unary(s: Sketch, node: ast.UnaryOp) -> Names:
    through = s.read(node.operand)
    return DEAD if isinstance(node.op, ast.Not) else through


def _arithmetic(s: Sketch, node: ast.BinOp) -> Names:
    through = s.read(node.left) | s.read(node.right)
    if isinstance(node.left, (ast.List, ast.Tuple)) or isinstance(node.right, (ast.List, ast.Tuple)):
        s.marks.add(REPEATS)
    text = isinstance(node.left, ast.JoinedStr) or (
        isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
    )
    return DEAD if text else through


def _comprehension(s: Sketch, node: Any) -> Names:
    s.marks.add(LOOPS)
    for part in node.generators:
        s.bind(part.target, s.read(part.iter))
        for test in part.ifs:
            s.read(test)
    if isinstance(node, ast.DictComp):
        through = s.read(node.key) | s.read(node.value)
    else:
        through = s.read(node.elt)
    if not isinstance(node, ast.GeneratorExp):
        s.mark(COLLECTS, through)
    return through


def _yield(s: Sketch, node: Any) -> Names:
    s.read(node.value)
    return LIVE


def _lambda(s: Sketch, node: ast.Lambda) -> Names:
    for arg in ast.walk(node.args):
        if isinstance(arg, ast.arg):
            s.bound[arg.arg] = LIVE
    s.read(node.body)
    return DEAD


def _walrus(s: Sketch, node: ast.NamedExpr) -> Names:
    through = s.read(node.value)
    s.bind(node.target, through)
    return through


def _call(s: Sketch, node: ast.Call) -> Names:
    return called(s, node, arguments_of(s, node))


def arguments_of(s: Sketch, node: ast.Call) -> Names:
    """What the arguments of a call are live through, all together."""
    through = DEAD
    for argument in node.args:
        through |= s.read(argument)
    for keyword in node.keywords:
        through |= s.read(keyword.value)
    return through


def called(s: Sketch, node: ast.Call, arguments: Names) -> Names:
    """What a call's result is live through; notes what the call may run."""
    if isinstance(node.func, ast.Name):
        s.mark(CALLS + node.func.id, arguments)
        return _function(s, node.func.id, arguments)
    if isinstance(node.func, ast.Attribute):
        own = isinstance(node.func.value, ast.Name) and node.func.value.id == s.own and node.func.attr in s.known
        s.mark(CALLS + "." * own + node.func.attr, arguments)
        return _method(s, node.func, arguments)
    s.marks.update((RUNS_MODULES, GRAPHS))
    s.read(node.func)
    return LIVE


def _function(s: Sketch, name: str, arguments: Names) -> Names:
    """A call of a name."""
    if name in s.bound or name in s.globals:
        s.marks.update((RUNS_MODULES, GRAPHS))
        return LIVE
    if name in PLAIN_CALLS:
        return DEAD
    if name in PASSING_CALLS or name == "sum":
        if name == "sum":
            s.mark(TOTAL, arguments)
        return arguments
    target = s.imports.get(name)
    if target is not None and target.partition(".")[0] in PLAIN_MODULES:
        return DEAD
    if target is not None and target.partition(".")[0] in _HOLDING_MODULES:
        return arguments
    if (target is None and name not in s.known) or name in RUNNERS:
        s.marks.add(RUNS_MODULES)
    if target is None or not target.startswith("torch.") or name in RUNNERS:
        s.marks.add(GRAPHS)
    if name[:1].isupper() and not name.isupper():
        return arguments  # an object holds what it is made of
    return LIVE


def _method(s: Sketch, func: ast.Attribute, arguments: Names) -> Names:
    """A call of an attribute."""
    name, base = func.attr, func.value
    if isinstance(base, ast.Name) and base.id in s.imports and base.id not in s.bound:
        return _of_module(s, s.imports[base.id], name, arguments)
    if isinstance(base, ast.Name) and base.id in s.plain and base.id not in s.bound:
        return DEAD
    if isinstance(base, ast.Name) and base.id == s.own:
        s.marks.update((GRAPHS,) if name in s.known and name != "forward" else (GRAPHS, RUNS_MODULES))
        return LIVE
    through = s.read(base)
    if name in PLAIN_METHODS:
        return DEAD
    if name in PASSING_METHODS or tensor_method(name):
        return through | arguments
    s.marks.add(GRAPHS)
    if name not in s.known or name == "forward":
        s.marks.add(RUNS_MODULES)
    if isinstance(base, (ast.Constant, ast.JoinedStr)):
        return DEAD
    head = root(base)
    if head is not None and head not in s.bound and head in s.imports:
        return _of_module(s, s.imports[head], name, arguments)
    return LIVE if arguments or through else DEAD


def _of_module(s: Sketch, target: str, name: str, arguments: Names) -> Names:
    """A function or class of an imported module."""
    if target.partition(".")[0] in PLAIN_MODULES:
        return DEAD
    if target.partition(".")[0] in _HOLDING_MODULES:
        return arguments
    if name in RUNNERS:
        s.marks.add(RUNS_MODULES)
    if target.partition(".")[0] != "torch" or name in RUNNERS:
        s.marks.add(GRAPHS)
    if name[:1].isupper() and not name.isupper():
        return arguments
    return LIVE


READ: dict[type, Callable[[Any, Any], Names]] = {
    ast.Constant: _nothing,
    ast.JoinedStr: _nothing,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Compare: _compare,
    ast.UnaryOp: _unary,
    ast.BinOp: _arithmetic,
    ast.Lambda: _lambda,
    ast.NamedExpr: _walrus,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
    ast.Call: _call,
}
