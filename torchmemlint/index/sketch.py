"""What a function may keep or run, told from its syntax tree alone: pseudo-words that rules ask for beside real ones.

A value is *live* where it may be a tensor or hold one. That is a superset, told by names and forms: parameters, results
of calls and attributes are live; literals, sizes, objects made of such and what the standard library gives are not."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from torchmemlint.index.live import DEAD, LIVE, PLAIN_MODULES, READ, Names, arguments_of, called, is_fresh, root
from torchmemlint.index.marks import ATTRIBUTE, CALLS, CATCHES, COLLECTS, EVERY, GATHERS, HANDS, KEEPS, LOOPS, TOTAL
from torchmemlint.index.names import written
from torchmemlint.knowledge import storing_names

_SILENT_CALLS = frozenset(
    "print super isinstance delattr pop popitem popleft remove clear sort reverse eval train to cuda apply backward "
    "step zero_grad load_state_dict close flush".split()
)
_PLAIN_TYPES = frozenset("int str bool float bytes complex None torch.dtype torch.device torch.Size".split())


_GIVEN = {ATTRIBUTE: KEEPS, COLLECTS: GATHERS, TOTAL: GATHERS}


def _given(mark: str) -> str:
    """What a mark is called where a parameter holds the value."""
    return HANDS + mark.removeprefix(CALLS) if mark.startswith(CALLS) else _GIVEN.get(mark, mark)


@dataclass(frozen=True)
class Surroundings:
    """What a file's functions see: local name -> imported target, names of its functions, methods and classes, names
    that its module level assigns, but for `plain` ones: constants and what the standard library gives."""

    imports: dict[str, str]
    known: frozenset[str]
    globals: frozenset[str]
    plain: frozenset[str]


def sketch(
    body: Iterable[ast.stmt],
    arguments: ast.arguments | None,
    file: Surroundings,
    owned: bool,
) -> set[str]:
    """The pseudo-words of a function's or, without `arguments`, of a module's statements. `owned`: the first parameter
    is the object or class."""
    walk = Sketch(file, arguments is None)
    if arguments is not None:
        walk.parameters(arguments, owned)
    try:
        walk.block(body)
    except RecursionError:  # nested too deeply: anything may be in there
        return set(EVERY)
    return walk.result()


class Sketch:
    """One walk over a function. Every expression gives the names that it is live through."""

    def __init__(self, file: Surroundings, is_module: bool) -> None:
        self.imports, self.known, self.globals, self.plain = file.imports, file.known, file.globals, file.plain
        self.is_module = is_module
        self.own: str | None = None
        self.marks: set[str] = set()
        self.given: set[str] = set()  # parameters that may be tensors
        self.bound: dict[str, Names] = {}  # name -> what it is live through
        self.pending: list[tuple[str, Names]] = []  # (mark, what must be live for it)
        self.loops = 0  # around the statement
        self.shared: set[str] = set()  # declared global or nonlocal
        self.local: set[str] = set()  # names that the function being walked, not one around it, assigns
        self.aliases: set[str] = set()  # names that stand, at some time, for something not made here
        self.computed: set[str] = set()  # names that a call or a constant has given a value
        self.stores: list[tuple[str | None, Names]] = []  # (container's name, what is put in)

    def result(self) -> set[str]:
        """The marks whose values turn out to be live."""
        lasting = [put for into, put in self.stores if into is None or into in self.aliases]
        self.pending += [(mark, put) for put in lasting for mark in (ATTRIBUTE, COLLECTS)]
        own = self._reached({"*", *self.globals.difference(self.bound)})
        given = self._reached(self.given)
        marks = self.marks | {mark for mark, through in self.pending if not own.isdisjoint(through)}
        return marks | {_given(mark) for mark, through in self.pending if not given.isdisjoint(through)}

    def _reached(self, start: set[str]) -> set[str]:
        """The names that hold something of `start`."""
        live, found = set(start), set(start)
        while found:
            found = {name for name, through in self.bound.items() if name not in live and not live.isdisjoint(through)}
            live |= found
        return live

    def parameters(self, arguments: ast.arguments, owned: bool) -> None:
        plain = [*arguments.posonlyargs, *arguments.args]
        defaults: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
        for at, (arg, default) in enumerate(zip(plain, defaults)):
            if owned and at == 0:
                self.own = arg.arg
                self.bound[arg.arg] = DEAD
            else:
                self._parameter(arg, default)
        for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
            self._parameter(arg, default)
        self.given |= {star.arg for star in (arguments.vararg, arguments.kwarg) if star is not None}
        self.bound |= {name: frozenset({name}) for name in self.given}

    def _parameter(self, arg: ast.arg, default: ast.expr | None) -> None:
        """A parameter is live unless its annotation or default says that it is plain data."""
        plain = isinstance(default, ast.Constant) and default.value is not None
        if plain or (arg.annotation is not None and written(arg.annotation) in _PLAIN_TYPES):
            self.bound[arg.arg] = DEAD
        else:
            self.given.add(arg.arg)

    def mark(self, mark: str, through: Names) -> None:
        """Note a mark that holds if the value is live."""
        if through:
            self.pending.append((mark, through))

    def collect(self, through: Names, into: str | None) -> None:
        """Note that a container takes a value in; `into`: the name that leads to it."""
        if self.loops:
            self.mark(COLLECTS, through)
        if through:
            self.stores.append((into if into in self.local else None, through))

    def bind(self, target: ast.expr, through: Names, fresh: bool = False) -> None:
        """An assignment to a name, an attribute, an item or several of them; `fresh`: of a container made here."""
        if isinstance(target, ast.Name):
            if target.id in self.shared:
                self.mark(ATTRIBUTE, through)
            if not fresh:
                self.aliases.add(target.id)
            self.local.add(target.id)
            old = self.bound.get(target.id)
            self.bound[target.id] = through if old is None else old | through
        elif isinstance(target, ast.Attribute):
            self.mark(ATTRIBUTE, through)
            self.read(target.value)
        elif isinstance(target, ast.Subscript):
            base = root(target)
            self.collect(through, base if isinstance(target.value, ast.Name) else None)
            if base is not None:
                self.bound[base] = self.bound.get(base, DEAD) | through
            self.read(target.slice)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self.bind(element, through)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, through)

    def read(self, node: ast.expr | None) -> Names:
        """What an expression is live through."""
        if node is None:
            return DEAD
        handler = READ.get(type(node))
        return handler(self, node) if handler is not None else self.children(node)

    def children(self, node: ast.AST) -> Names:
        """The same for an expression that holds what its parts hold."""
        through = DEAD
        for name in node._fields:
            value = getattr(node, name, None)
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.expr):
                    through |= self.read(child)
        return through

    # -- statements -------------------------------------------------------------------------------------------------

    def block(self, body: Iterable[ast.stmt]) -> None:
        """Statements in order."""
        for node in body:
            handler = _RUN.get(type(node))
            if handler is not None:
                handler(self, node)

    def assign(self, node: ast.Assign) -> None:
        through = self.read(node.value)
        fresh = len(node.targets) == 1 and is_fresh(node.value)
        number = isinstance(node.value, ast.Constant) and node.value.value is not None
        computed = number or isinstance(node.value, ast.Call) and not fresh
        for target in node.targets:
            self.bind(target, through, fresh)
            self._comes_round(target, node.value, through)
            if computed and isinstance(target, ast.Name):
                self.computed.add(target.id)

    def _comes_round(self, target: ast.expr, value: ast.expr, through: Names) -> None:
        """`total = total + x`, `best = x if best is None else cat([best, x])`, `total, n = total + x, n + 1`."""
        if not through or isinstance(value, ast.Name) or not (self.loops or isinstance(target, ast.Attribute)):
            return
        shown = {written(part) for part in ast.walk(target) if isinstance(part, (ast.Name, ast.Attribute))}
        shown = {path for path in shown if path is not None and (self.loops or "." in path)}
        if shown and any(
            written(part) in shown for part in ast.walk(value) if isinstance(part, (ast.Name, ast.Attribute))
        ):
            self.mark(TOTAL, through)

    def annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.read(node.value), is_fresh(node.value))

    def augmented(self, node: ast.AugAssign) -> None:
        through = self.read(node.value)
        if self.loops or not isinstance(node.target, ast.Name):
            self.mark(TOTAL, through)
        if self._extends(node):
            self.collect(through, node.target.id if isinstance(node.target, ast.Name) else None)
        self.bind(node.target, through, fresh=True)  # it stays what it was

    def _extends(self, node: ast.AugAssign) -> bool:
        """May it put members into a list? What a layer gave, as in `out += identity`, is none."""
        if isinstance(node.value, ast.Name):
            return not (isinstance(node.target, ast.Name) and node.target.id in self.computed)
        return isinstance(node.value, (ast.List, ast.ListComp, ast.Tuple))

    def loop(self, node: ast.For | ast.AsyncFor) -> None:
        self.marks.add(LOOPS)
        self.bind(node.target, self.read(node.iter))
        self._repeated(node.body)
        self.block(node.orelse)

    def repeat(self, node: ast.While) -> None:
        self.marks.add(LOOPS)
        self.read(node.test)
        self._repeated(node.body)
        self.block(node.orelse)

    def _repeated(self, body: list[ast.stmt]) -> None:
        self.loops += 1
        self.block(body)
        self.loops -= 1

    def branch(self, node: ast.If) -> None:
        self.read(node.test)
        self.block(node.body)
        self.block(node.orelse)

    def enter(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            through = self.read(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, through)
        self.block(node.body)

    def attempt(self, node: Any) -> None:
        self.block(node.body)
        for handler in node.handlers:
            if handler.name is not None:
                self.marks.add(CATCHES)
            self.block(handler.body)
        self.block(node.orelse)
        self.block(node.finalbody)

    def choose(self, node: ast.Match) -> None:
        through = self.read(node.subject)
        for case in node.cases:
            for part in ast.walk(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    self.bound[name] = self.bound.get(name, DEAD) | through
            self.block(case.body)

    def statement(self, node: ast.Expr) -> None:
        value = node.value
        if isinstance(value, ast.Await):
            value = value.value
        if isinstance(value, ast.Call):
            through = arguments_of(self, value)
            called(self, value, through)
            self._handed(value.func, through)
        elif not isinstance(value, ast.Constant):
            self.read(value)

    def _handed(self, func: ast.expr, through: Names) -> None:
        """Live arguments of a call whose result is not used: its object may keep them. What functions of the project
        keep is known once files are linked."""
        base = root(func)
        if isinstance(func, ast.Attribute):
            if func.attr in storing_names():
                self.collect(through, base if isinstance(func.value, ast.Name) else None)
            if base is not None and base != self.own and not self._is_silent(func.attr, base):
                self.bound[base] = self.bound.get(base, DEAD) | through
        elif not isinstance(func, ast.Name) or func.id in storing_names() or func.id in self.bound:
            self.collect(through, None)

    def _is_silent(self, name: str, base: str) -> bool:
        """Does the object take nothing in from such a call: in place, of the library, of a module for plain data?"""
        if name in _SILENT_CALLS or (name.endswith("_") and not name.startswith("_")):
            return True
        target = self.imports.get(base, "").partition(".")[0]
        return bool(target) and (target in PLAIN_MODULES or target == "torch")

    def values(self, node: ast.stmt) -> None:
        self.children(node)

    def share(self, node: ast.Global | ast.Nonlocal) -> None:
        self.shared.update(node.names)

    def nested(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """A nested function: its parameters and names are taken as this function's own."""
        if self.is_module:
            return
        for arg in ast.walk(node.args):
            if isinstance(arg, ast.arg):
                self.bound[arg.arg] = LIVE
        self.bound.setdefault(node.name, LIVE)
        outer, self.local = self.local, set()
        self.block(node.body)
        self.local = outer

    def class_body(self, node: ast.ClassDef) -> None:
        self.block([s for s in node.body if not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef))])


_RUN: dict[type, Callable[[Sketch, Any], None]] = {
    ast.Assign: Sketch.assign,
    ast.AnnAssign: Sketch.annotated,
    ast.AugAssign: Sketch.augmented,
    ast.For: Sketch.loop,
    ast.AsyncFor: Sketch.loop,
    ast.While: Sketch.repeat,
    ast.If: Sketch.branch,
    ast.With: Sketch.enter,
    ast.AsyncWith: Sketch.enter,
    ast.Try: Sketch.attempt,
    ast.Match: Sketch.choose,
    ast.Expr: Sketch.statement,
    ast.Return: Sketch.values,
    ast.Raise: Sketch.values,
    ast.Assert: Sketch.values,
    ast.Delete: Sketch.values,
    ast.Global: Sketch.share,
    ast.Nonlocal: Sketch.share,
    ast.FunctionDef: Sketch.nested,
    ast.AsyncFunctionDef: Sketch.nested,
    ast.ClassDef: Sketch.class_body,
}
if hasattr(ast, "TryStar"):
    _RUN[ast.TryStar] = Sketch.attempt
