"""Builders that change blocks: decorators, and `with` around statements."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchmemlint.fixes.lines import end_row, indentation, line_end, row_of, statement_start
from torchmemlint.fixes.plan import Change, Ground, Plan, Refused, Step, children
from torchmemlint.fixes.statements import block_of, end_with_semicolon, is_header, whole_statement
from torchmemlint.fixes.text import text_shape

if TYPE_CHECKING:
    from torchmemlint.flow.units import Unit

# Decorators that read or compile the function's own source, and break when another decorator wraps it first.
_READS_SOURCE = frozenset({"jit", "njit", "script", "script_method", "overload", "ignore", "unused", "export"})
_PAUSES = (cst.Yield, cst.Await)
_SCOPES = (cst.FunctionDef, cst.Lambda, cst.ClassDef)


def _pauses(node: cst.CSTNode) -> bool:
    """Whether the code gives control away before it ends: a grad mode set around it would leak to others. Nested
    functions and classes do not run with it."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, _PAUSES) or getattr(node, "asynchronous", None) is not None:
            return True
        waiting.extend(children(node))
    return False


def _last_name(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Call):
        return _last_name(node.func)
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


@dataclass(frozen=True)
class _Decorate(Step):
    node: cst.CSTNode
    text: str

    def changes(self, place: Ground) -> Iterator[Change]:
        function = self.node
        if not isinstance(function, cst.FunctionDef):
            raise Refused("not a function")
        start = place.span(function)[0]
        self._refuse_unfit(place, function)
        text_shape(self.text)
        yield Change(start, start, f"@{self.text}\n{indentation(place, start)}")

    def _refuse_unfit(self, place: Ground, function: cst.FunctionDef) -> None:
        if function.asynchronous or _pauses(function.body):
            raise Refused("the body of a coroutine or generator runs outside the decorator")
        for decorator in function.decorators:
            if _last_name(decorator.decorator) in _READS_SOURCE:
                raise Refused("a decorator reads the function's source")
            if place.text(*place.outer(decorator.decorator)) == self.text:
                raise Refused("decorated already")


def add_decorator(unit: Unit, function: cst.CSTNode, text: str) -> Plan:
    """Decorate a function directly above its `def`, below its other decorators. Not made for coroutines, generators and
    functions whose source a decorator compiles. `text` is spelled as the file must (see `spell`)."""
    return Plan(f"Decorate with `@{text}`", (_Decorate(function, text),))


def _lines(place: Ground, first_row: int, last_row: int) -> list[str]:
    """The rows with their line ends as line feeds."""
    starts = place.unit.source.line_starts
    return [place.text(starts[row - 1], line_end(place, row)) for row in range(first_row, last_row + 1)]


def _rows_in_strings(lines: Sequence[str]) -> set[int]:
    """Positions in `lines` of those that begin inside a string: their blanks are part of its value."""
    inside: set[int] = set()
    opened: list[int] = []
    kinds = {getattr(tokenize, f"{kind}STRING_{end}", -1): end for kind in "FT" for end in ("START", "END")}
    try:
        for token in tokenize.generate_tokens(iter(lines).__next__):
            if token.type == tokenize.STRING:
                inside.update(range(token.start[0], token.end[0]))
            elif kinds.get(token.type) == "START":
                opened.append(token.start[0])
            elif kinds.get(token.type) == "END":
                inside.update(range(opened.pop(), token.end[0]))
    except (tokenize.TokenError, SyntaxError, IndexError):
        raise Refused("cannot be read on its own") from None
    return inside


def _shifted(lines: Sequence[str], base: str, step: str) -> str:
    """The lines, one `step` deeper. Blank lines and the inside of strings stay."""
    kept = _rows_in_strings(lines)
    out = []
    for i, line in enumerate(lines):
        if i in kept or not line.strip():
            out.append(line)
        elif line.startswith(base):
            out.append(base + step + line[len(base) :])
        else:
            out.append(step + line)
    return "".join(out)


def _same_program(before: str, after: str, nested: bool) -> bool:
    """Whether the body of the `with` in `after` is exactly the statements of `before`."""
    prefix = "if 1:\n" if nested else ""
    try:
        old, new = ast.parse(prefix + before).body, ast.parse(prefix + after).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if nested and isinstance(old[0], ast.If) and isinstance(new[0], ast.If):
        old, new = old[0].body, new[0].body
    dumped = [ast.dump(statement) for statement in old]
    return len(new) == 1 and isinstance(new[0], ast.With) and dumped == [ast.dump(s) for s in new[0].body]


def _step_of(place: Ground, block: cst.CSTNode) -> str:
    """One level of indentation, as the block or else the file has it."""
    explicit = block.indent if isinstance(block, cst.IndentedBlock) else None
    return explicit or place.unit.concrete.default_indent


def _region(place: Ground, statements: Sequence[cst.CSTNode]) -> tuple[int, int, str]:
    """First row, last row and indentation of neighbouring statements that may be put under a `with`."""
    for statement in statements:
        if _pauses(statement):
            raise Refused("gives control away while the grad mode is set")
        if is_header(statement):
            raise Refused("a docstring or future import")
    start = statement_start(place, statements[0])
    return row_of(place, start), end_row(place, statements[-1]), indentation(place, start)


def _nested(place: Ground, header: str, rows: tuple[int, int], indent: str, step: str) -> str:
    """`header` and the rows under it."""
    lines = _lines(place, *rows)
    head = f"{indent}{header}\n"
    lines[-1] = lines[-1].rstrip("\n") + "\n"
    body = _shifted(lines, indent, step)
    if not _same_program("".join(lines), f"{head}{body}", bool(indent)):
        raise Refused("deeper indentation would change the program")
    return head + body


def _region_change(place: Ground, start: int, end: int, text: str) -> Change:
    ends_with_line = place.data[end - 1 : end] in (b"\n", b"\r")
    return Change(start, end, text if ends_with_line else text[:-1])


@dataclass(frozen=True)
class _Wrap(Step):
    first: cst.CSTNode
    last: cst.CSTNode
    text: str

    def changes(self, place: Ground) -> Iterator[Change]:
        first, last = whole_statement(place, self.first), whole_statement(place, self.last)
        block, body = block_of(place, first)
        if block_of(place, last)[0] is not block:
            raise Refused("not of one block")
        positions = {statement: i for i, statement in enumerate(body)}
        statements = body[positions[first] : positions[last] + 1]
        if not statements:
            raise Refused("the last statement is before the first")
        first_row, last_row, indent = _region(place, statements)
        text = _nested(place, f"with {self.text}:", (first_row, last_row), indent, _step_of(place, block))
        start = place.unit.source.line_starts[first_row - 1]
        yield _region_change(place, start, line_end(place, last_row), text)


def wrap_in_with(unit: Unit, first: cst.CSTNode, last: cst.CSTNode, text: str) -> Plan:
    """Put the statements from `first` to `last`, of one block, under `with text:`. Not made where they yield or await,
    share a line with others, or would read differently one level deeper."""
    return Plan(f"Wrap in `with {text}:`", (_Wrap(first, last, text),))


@dataclass(frozen=True)
class _EnterBare(Step):
    node: cst.CSTNode
    text: str | None

    def changes(self, place: Ground) -> Iterator[Change]:
        line = whole_statement(place, self.node)
        only = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        if not isinstance(only, cst.Expr):
            raise Refused("not an expression on its own line")
        block, body = block_of(place, line)
        at = next(i for i, statement in enumerate(body) if statement is line)
        rest = body[at + 1 :]
        if not rest:
            raise Refused("nothing follows in the block")
        start, end = place.outer(only.value)
        _, last_row, indent = _region(place, rest)
        own_row = end_row(place, line)
        if indentation(place, place.span(line)[0]) != indent:
            raise Refused("indented differently")
        text = self.text if self.text is not None else place.text(start, end)
        rows = place.unit.source.line_starts
        header = f"with {text}:{place.text(end_with_semicolon(place, line), line_end(place, own_row)).rstrip()}"
        nested = _nested(place, header, (own_row + 1, last_row), indent, _step_of(place, block))
        yield _region_change(place, rows[row_of(place, start) - 1], line_end(place, last_row), nested)


def enter_bare_context(statement: cst.CSTNode, text: str | None = None) -> Plan:
    """Turn the statement `torch.no_grad()`, which has no effect alone, into a `with` around the rest of its block;
    `text` replaces the expression. Not made where the rest yields or awaits, or is empty."""
    return Plan("Enter the context with `with`", (_EnterBare(statement, text),))
