"""From source text to FileIndex: one `ast.parse`, one walk over the statements outside functions, no expressions."""

from __future__ import annotations

import ast
import gc
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence

from torchmemlint.index.constructors import made
from torchmemlint.index.live import is_plain
from torchmemlint.index.model import NOTHING, ClassInfo, FileIndex, FunctionInfo, Parameter, parameter
from torchmemlint.index.modules import module_name
from torchmemlint.index.names import Names, plain_words, split_lines, words_of, written
from torchmemlint.index.sketch import Surroundings, sketch
from torchmemlint.index.variables import variables
from torchmemlint.index.walk import (
    FUNCTION,
    Collected,
    Definition,
    FunctionNode,
    Walker,
    first_line,
    statement_line,
    target_names,
)
from torchmemlint.index.words import NO_WORDS, Words
from torchmemlint.source import Source, renamed

__all__ = ["index_source", "module_name", "parse"]

Worded = tuple[str, frozenset[str]]
Take = Callable[[Source, Iterable[tuple[FunctionInfo, ast.stmt]]], None]
_HEADER = re.compile(r"\b(?:def|class)\s+\w+")
# Methods of tensors and modules that return an object of the same class: `net = Net().cuda()` was made by `Net`.
_CHAINED = frozenset(
    (
        "apply",
        "bfloat16",
        "cpu",
        "cuda",
        "double",
        "eval",
        "float",
        "half",
        "requires_grad_",
        "share_memory",
        "to",
        "train",
    )
)


def index_source(source: Source, module: str, is_package: bool, take: Take | None = None) -> FileIndex:
    """Index one file; `take` is given its functions with their syntax trees, before these are dropped. Raises
    SyntaxError, also for code nested too deeply for the parser."""
    enabled = gc.isenabled()
    gc.disable()  # syntax trees hold no cycles: collecting while they grow is lost time
    try:
        return _index(source, module, is_package, take)
    finally:
        if enabled:
            gc.enable()


def parse(text: str) -> ast.Module:
    """`ast.parse` without warnings. Raises SyntaxError for whatever the parser refuses."""
    try:
        return _parsed(text)
    except SyntaxError:
        older = renamed(text)
        if older == text:
            raise
    return _parsed(older)


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)  # text, not bytes: the coding line is no longer true of them
        except (RecursionError, MemoryError):
            raise SyntaxError("nested too deeply to be parsed", ("<unknown>", 1, 1, "")) from None
        except ValueError as error:
            raise SyntaxError(str(error), ("<unknown>", 1, 1, "")) from None


def _index(source: Source, module: str, is_package: bool, take: Take | None) -> FileIndex:
    text = source.text
    tree = parse(text)
    lines = split_lines(text)
    found = Collected()
    walker = Walker(found, module, is_package)
    walker.block(tree.body, None, sure=True)
    texts = [_text(definition.node, lines) for definition in found.definitions]
    words = list(map(words_of, texts))
    for definition, known in zip(found.definitions, words):
        if isinstance(definition.node, FUNCTION) and ("import" in known or "global" in known):
            walker.inside(definition.node.body)
    for name, target in found.inner.items():
        if name not in found.bound:
            found.imports.setdefault(name, target)
    maker = _Maker(source.path, module, lines, found)
    functions, classes = maker.infos(zip(texts, words))
    body = maker.module_body(tree.body)
    if take is not None:
        nodes = ((definition.id, definition.node) for definition in found.definitions)
        take(source, ((functions[key], node) for key, node in nodes if key in functions))
    return FileIndex(
        path=source.path,
        module=module,
        is_package=is_package,
        mentions_torch="torch" in text,
        lines=len(lines) - (not lines[-1]),
        imports=found.imports,
        stars=tuple(found.stars),
        globals=frozenset(found.bound),
        assigned=frozenset(name for name, _ in found.assigned),
        constructed=maker.constructed(),
        aliases=maker.aliases(),
        functions={body.id: body, **functions},
        classes=classes,
        words=Words(body.words.spread().union(*words, _named_outside(lines, found))),
        checksum=source.checksum,
    )


def _named_outside(lines: Sequence[str], found: Collected) -> frozenset[str]:
    """The words of the file that are no function's, nor the module body's: what is defined, and what is imported on the
    module's level. Docstrings don't count."""
    rows = [row for first, last in found.import_rows for row in lines[first:last]]
    return words_of("\n".join(rows)).union(definition.node.name for definition in found.definitions)


def _yields(function: FunctionNode) -> bool:
    """Has the function a yield of its own? Those of nested functions, classes and lambdas are not."""
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (*FUNCTION, ast.ClassDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(node))
    return False


def _text(node: FunctionNode | ast.ClassDef, lines: Sequence[str]) -> str:
    """A function but for its own name and docstring; nothing of a class, whose own lines count as the module's."""
    if isinstance(node, ast.ClassDef):
        return ""
    above, below = lines[first_line(node) - 1 : node.lineno - 1], list(lines[node.lineno : node.end_lineno])
    _cut_docstring(below, node.body, node.lineno, node.lineno)
    return "\n".join([*above, _after_name(lines[node.lineno - 1]), *below])


def _cut_docstring(rows: list[str], body: Sequence[ast.stmt], header: int, offset: int = 0) -> None:
    """Empty the rows of a docstring but for its first and last, which may hold more. `header`: the definition's row;
    `offset`: how many rows of the file come before these."""
    text = body[0] if body else None
    if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str):
        first, last = text.lineno, text.end_lineno or text.lineno
        if first > header and last - first > 1:
            rows[first - offset : last - 1 - offset] = [""] * (last - 1 - first)


class _Maker:
    """Turns what the walk collected into infos."""

    def __init__(self, path: str, module: str, lines: Sequence[str], found: Collected) -> None:
        self.path, self.module, self.lines, self.found = path, module, lines, found
        self.names = Names(module, found.imports, found.bound, lines)
        known = frozenset(d.node.name for d in found.definitions if not _is_read(d))
        assigned = frozenset(name for name, _ in found.assigned)
        plain = assigned - {name for name, value in found.assigned if not is_plain(value, found.imports)}
        self.file = Surroundings(found.imports, known, assigned - plain, plain)

    def infos(self, found: Iterable[Worded]) -> tuple[dict[str, FunctionInfo], dict[str, ClassInfo]]:
        """Functions and classes by id; `found`: of each definition its text and words. The first of several definitions
        with one name has the plain id."""
        self._number()
        functions: dict[str, FunctionInfo] = {}
        classes: dict[str, ClassInfo] = {}
        for definition, worded in zip(self.found.definitions, found):
            if isinstance(definition.node, ast.ClassDef):
                classes[definition.id] = self._class(definition, definition.node)
                continue
            info = functions[definition.id] = self._function(definition, definition.node, *worded)
            if info.owner is not None and not _is_stub(definition):
                classes[info.owner].methods.setdefault(info.name, info.id)
        for definition in self.found.definitions:
            if isinstance(definition.node, ast.ClassDef):
                _method_aliases(definition.node, classes[definition.id].methods)
        return functions, classes

    def _number(self) -> None:
        """Give ids: "m:q", and "m:q#2"... to overload stubs, property setters and alternative branches."""
        taken: dict[str, int] = {}
        for definition in sorted(self.found.definitions, key=_is_stub):
            base = f"{self.module}:{definition.qualname}"
            taken[base] = number = taken.get(base, 0) + 1
            definition.id = base if number == 1 else f"{base}#{number}"

    def _function(self, definition: Definition, node: FunctionNode, text: str, words: frozenset[str]) -> FunctionInfo:
        return FunctionInfo(
            id=definition.id,
            path=self.path,
            qualname=definition.qualname,
            name=node.name,
            owner=definition.owner.id if definition.owner is not None else None,
            line=node.lineno,
            first_line=first_line(node),
            body_line=statement_line(node.body[0]),
            body_column=node.body[0].col_offset,
            end_line=node.end_lineno or node.lineno,
            column=node.col_offset,
            parameters=tuple(self._parameters(node.args)),
            decorators=tuple(map(self.names.name, node.decorator_list)),
            returns=sys.intern(self.names.annotation(node.returns)) if node.returns is not None else None,
            is_async=isinstance(node, ast.AsyncFunctionDef),
            is_generator="yield" in words and _yields(node),
            words=Words(words),
            plain=self._plain(text, words),
            marks=Words(self._marks(definition, node)),
            made=(made(node) if definition.owner is not None else None) or NOTHING,
        )

    def _plain(self, text: str, words: frozenset[str]) -> Words:
        return (Words(plain_words(text, words, self.found.imports)) if not self.found.stars else None) or NO_WORDS

    def _marks(self, definition: Definition, node: FunctionNode) -> set[str]:
        """The pseudo-words of a function; a constructor is given none: what it keeps are modules and settings."""
        if definition.owner is None:
            return sketch(node.body, node.args, self.file, False)
        if node.name == "__init__":
            return set()
        static = any(written(d) == "staticmethod" for d in node.decorator_list)
        return sketch(node.body, node.args, self.file, not static)

    def _parameters(self, args: ast.arguments) -> Iterator[Parameter]:
        positional = [*args.posonlyargs, *args.args]
        missing = [None] * (len(positional) - len(args.defaults))
        for arg, default in zip(positional, [*missing, *args.defaults]):
            yield self._parameter(arg, "positional", default)
        if args.vararg is not None:
            yield self._parameter(args.vararg, "vararg", None)
        for arg, default in zip(args.kwonlyargs, args.kw_defaults):
            yield self._parameter(arg, "keyword", default)
        if args.kwarg is not None:
            yield self._parameter(args.kwarg, "kwarg", None)

    def _parameter(self, arg: ast.arg, kind: str, default: ast.expr | None) -> Parameter:
        annotation = None if arg.annotation is None else self.names.annotation(arg.annotation)
        number = isinstance(default, ast.Constant) and isinstance(default.value, (int, float))
        return parameter(arg.arg, kind, annotation, number)

    def _class(self, definition: Definition, node: ast.ClassDef) -> ClassInfo:
        fields = {
            statement.target.id: self.names.annotation(statement.annotation)
            for statement in node.body
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        }
        return ClassInfo(
            id=definition.id,
            path=self.path,
            qualname=definition.qualname,
            name=node.name,
            line=node.lineno,
            end_line=node.end_lineno or node.lineno,
            bases=tuple(self._base(node.name, base) for base in node.bases),
            decorators=tuple(map(self.names.name, node.decorator_list)),
            fields=fields,
        )

    def _base(self, own: str, node: ast.expr) -> str:
        """A base's name; in `class Foo(Foo)` it is the one imported before."""
        if isinstance(node, ast.Name) and node.id == own and own in self.found.shadowed:
            return self.found.shadowed[own]
        return self.names.name(node)

    def module_body(self, body: Sequence[ast.stmt]) -> FunctionInfo:
        """The module's own code as a function. Its words are those outside functions; names that are only defined or
        imported there do not count: they would make each module a caller of all its functions."""
        text = "\n".join(self._outside(body))
        words = words_of(text)
        return FunctionInfo(
            id=f"{self.module}:",
            path=self.path,
            qualname="",
            name="",
            owner=None,
            line=1,
            first_line=1,
            body_line=1,
            end_line=max(1, len(self.lines) - (not self.lines[-1])),
            column=0,
            words=Words(words),
            plain=self._plain(text, words),
            marks=Words(sketch(body, None, self.file, False)),
            made=variables(self.found) or NOTHING,
        )

    def _outside(self, body: Sequence[ast.stmt]) -> Iterator[str]:
        """The rows of the module without functions, imports, docstrings and the names of classes."""
        lines = list(self.lines)
        for first, last in self.found.import_rows:
            if not any(";" in row for row in lines[first:last]):
                lines[first:last] = [""] * (last - first)
        _cut_docstring(lines, body, 0)
        at = 0
        for definition in self.found.definitions:
            node = definition.node
            if isinstance(node, ast.ClassDef):
                _cut_docstring(lines, node.body, node.lineno)
                lines[node.lineno - 1] = _after_name(lines[node.lineno - 1])
            else:
                yield from lines[at : first_line(node) - 1]
                at = max(at, node.end_lineno or node.lineno)
        yield from lines[at:]

    def constructed(self) -> dict[str, str]:
        """Module-level names made by one call each; a name made by different callees is left out."""
        made: dict[str, str] = {}
        unsure: set[str] = set()
        for name, value in self.found.assigned:
            callee = _callee(value)
            if callee is None or callee.startswith(f"{name}."):
                if callee is None and not (isinstance(value, ast.Constant) and value.value is None):
                    unsure.add(name)
                continue
            if made.setdefault(name, self.names.absolute(callee)) != self.names.absolute(callee):
                unsure.add(name)
        return {name: callee for name, callee in made.items() if name not in unsure}

    def aliases(self) -> dict[str, str]:
        """Module-level `name = dotted.name`, where it is the only assignment to the name."""
        counts: dict[str, int] = {}
        for name, _ in self.found.assigned:
            counts[name] = counts.get(name, 0) + 1
        spelled = ((name, written(value)) for name, value in self.found.assigned if counts[name] == 1)
        return {n: self.names.absolute(d) for n, d in spelled if d is not None and d.partition(".")[0] != n}


def _after_name(row: str) -> str:
    """The row of a `def` or `class` from behind the name on."""
    found = _HEADER.search(row)
    return row[found.end() :] if found is not None else row


def _is_read(definition: Definition) -> bool:
    """Is it a property, which is read and not called?"""
    names = [(written(d) or "").rpartition(".")[2] for d in definition.node.decorator_list]
    return "property" in names or "cached_property" in names


def _is_stub(definition: Definition) -> bool:
    """Is it an `@overload` declaration, whose body never runs?"""
    return any((written(d) or "").rpartition(".")[2] == "overload" for d in definition.node.decorator_list)


def _callee(value: ast.expr) -> str | None:
    """The dotted callee of `Callee(...)`, seen through calls like `.to(device)` that return the same object."""
    while isinstance(value, ast.Call):
        function = value.func
        inner = function.value if isinstance(function, ast.Attribute) else None
        if not isinstance(inner, ast.Call):
            return written(function)
        if not isinstance(function, ast.Attribute) or function.attr not in _CHAINED:
            return None
        value = inner
    return None


def _method_aliases(node: ast.ClassDef, methods: dict[str, str]) -> None:
    """`__call__ = forward` in a class body."""
    for statement in node.body:
        if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name)):
            continue
        if statement.value.id in methods:
            for name in target_names(statement.targets[0]):
                methods.setdefault(name, methods[statement.value.id])
