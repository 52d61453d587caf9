"""Builders that delete, insert and replace whole statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from torchmemlint.fixes.lines import end_row, indentation, is_artificial, line_end, row_of, statement_start
from torchmemlint.fixes.plan import Change, Ground, Plan, Refused, Step

Holder = cst.SimpleStatementLine | cst.SimpleStatementSuite


def _statement(node: cst.CSTNode) -> cst.BaseSmallStatement | cst.SimpleStatementLine | cst.BaseCompoundStatement:
    """The node as a statement; a line that holds one small statement only is that line."""
    if isinstance(node, (cst.BaseSmallStatement, cst.SimpleStatementLine, cst.BaseCompoundStatement)):
        return node
    raise Refused("not a statement")


def _parts(place: Ground, node: cst.CSTNode) -> tuple[Holder | None, int]:
    """The line or one-line suite that a small statement is in, and its position there; (None, 0) for others."""
    if not isinstance(node, cst.BaseSmallStatement):
        return None, 0
    holder = place.parent(node)
    if not isinstance(holder, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
        raise Refused("not in a line of statements")
    return holder, next(i for i, part in enumerate(holder.body) if part is node)


def whole_statement(place: Ground, node: cst.CSTNode) -> cst.CSTNode:
    """The line of a small statement that is alone in it."""
    holder, _ = _parts(place, _statement(node))
    return holder if isinstance(holder, cst.SimpleStatementLine) and len(holder.body) == 1 else node


def block_of(place: Ground, statement: cst.CSTNode) -> tuple[cst.CSTNode, Sequence[cst.CSTNode]]:
    """The block that a whole statement is in, with the block's statements."""
    block = place.parent(statement)
    if not isinstance(block, (cst.Module, cst.IndentedBlock)):
        raise Refused("not in a block")
    if is_artificial(place, block):
        raise Refused("the function itself")
    return block, block.body


def is_header(statement: cst.CSTNode) -> bool:
    """Whether the statement must stay first where it is: a docstring, by its form, or a future import."""
    first = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else statement
    if isinstance(first, cst.ImportFrom):
        return isinstance(first.module, cst.Name) and first.module.value == "__future__"
    return isinstance(first, cst.Expr) and isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString))


@dataclass(frozen=True)
class DeleteStep(Step):
    """Deletes statements; those of one plan are looked at together, so that no block is left empty."""

    nodes: tuple[cst.CSTNode, ...]

    def joined(self, other: Step) -> Step | None:
        """Deletions see one another, or two of them could empty a block."""
        return DeleteStep(self.nodes + other.nodes) if isinstance(other, DeleteStep) else None

    def changes(self, place: Ground) -> Iterator[Change]:
        whole: dict[cst.CSTNode, list[cst.CSTNode]] = {}
        parts: dict[Holder, set[int]] = {}
        for node in dict.fromkeys(whole_statement(place, node) for node in self.nodes):
            holder, at = _parts(place, node)
            if holder is None:
                whole.setdefault(block_of(place, node)[0], []).append(node)
            else:
                parts.setdefault(holder, set()).add(at)
        for holder in [h for h, gone in parts.items() if len(gone) == len(h.body)]:
            if isinstance(holder, cst.SimpleStatementLine):
                whole.setdefault(block_of(place, holder)[0], []).append(holder)
                del parts[holder]
        for block, gone in whole.items():
            yield from _delete_lines(place, block, gone)
        for holder, positions in parts.items():
            yield from _delete_parts(place, holder, positions)


def _delete_lines(place: Ground, block: cst.CSTNode, gone: list[cst.CSTNode]) -> Iterator[Change]:
    emptied = isinstance(block, cst.IndentedBlock) and len(gone) == len(block.body)
    for i, statement in enumerate(sorted(gone, key=lambda s: place.span(s))):
        start = statement_start(place, statement)
        indentation(place, start)
        if emptied and i == 0:
            yield Change(start, end_with_semicolon(place, statement), "pass")
        else:
            rows = place.unit.source.line_starts
            yield Change(rows[row_of(place, start) - 1], line_end(place, end_row(place, statement)), "")


def end_with_semicolon(place: Ground, statement: cst.CSTNode) -> int:
    """Where a whole statement ends, with the semicolon that may close its line."""
    if isinstance(statement, cst.SimpleStatementLine):
        last = statement.body[-1]
        return place.span(last.semicolon if isinstance(last.semicolon, cst.Semicolon) else last)[1]
    return len(place.data[: line_end(place, end_row(place, statement))].rstrip(b"\r\n"))


def _delete_parts(place: Ground, holder: Holder, gone: set[int]) -> Iterator[Change]:
    body = holder.body
    if len(gone) == len(body):
        yield Change(place.span(body[0])[0], place.span(body[-1])[1], "pass")
        return
    for first in sorted(i for i in gone if i - 1 not in gone):
        last = next(i for i in range(first, len(body)) if i + 1 not in gone)
        if last + 1 < len(body):
            yield Change(place.span(body[first])[0], place.span(body[last + 1])[0], "")
        else:
            yield Change(place.span(body[first - 1])[1], place.span(body[last])[1], "")


def delete_whole(place: Ground, statement: cst.CSTNode) -> Iterator[Change]:
    """The changes that delete a statement. Refused where its block would be empty."""
    changes = list(DeleteStep((statement,)).changes(place))
    if any(change.content for change in changes):
        raise Refused("the block would be empty")
    yield from changes


def delete_statement(*statements: cst.CSTNode) -> Plan:
    """Delete statements with their lines; `pass` stays where a block would be left empty. A function's own `def` is
    never deleted."""
    return Plan("Delete the statement" + "s" * (len(statements) > 1), (DeleteStep(statements),))


def _simple(text: str) -> bool:
    """Whether the text is one line of small statements, fit to stand behind a semicolon."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False
    return "\n" not in text and "#" not in text and not any(hasattr(s, "body") or hasattr(s, "cases") for s in body)


def _indented(text: str, indent: str) -> str:
    """The lines of `text`, each but the first behind `indent`."""
    return "\n".join(line if i == 0 or not line.strip() else indent + line for i, line in enumerate(text.split("\n")))


@dataclass(frozen=True)
class _Insert(Step):
    node: cst.CSTNode
    text: str
    after: bool

    def changes(self, place: Ground) -> Iterator[Change]:
        node = whole_statement(place, self.node)
        holder, at = _parts(place, node)
        if isinstance(holder, cst.SimpleStatementSuite):
            raise Refused("in a one-line suite")
        inner = holder is not None and (at + 1 < len(holder.body) if self.after else at > 0)
        if inner:
            yield self._inside(place, node)
            return
        statement = holder or node
        if is_header(statement) and not self.after:
            raise Refused("a docstring or future import")
        if not isinstance(place.parent(statement), (cst.Module, cst.IndentedBlock)):
            raise Refused("not in a block")
        start = statement_start(place, statement)
        indent = indentation(place, start)
        if self.after:
            yield self._behind(place, line_end(place, end_row(place, statement)), indent)
        else:
            yield Change(start, start, f"{_indented(self.text, indent)}\n{indent}")

    def _inside(self, place: Ground, node: cst.CSTNode) -> Change:
        """Between the small statements of one line."""
        if not _simple(self.text):
            raise Refused("does not fit between semicolons")
        start, end = place.span(node)
        return Change(end, end, f"; {self.text}") if self.after else Change(start, start, f"{self.text}; ")

    def _behind(self, place: Ground, end: int, indent: str) -> Change:
        text = indent + _indented(self.text, indent)
        at_line_start = end in (0, place.unit.source.line_starts[-1]) or place.data[end - 1 : end] in (b"\n", b"\r")
        return Change(end, end, f"{text}\n" if at_line_start else f"\n{text}")


def insert_after(statement: cst.CSTNode, text: str) -> Plan:
    """Insert statements (lines parted by line feeds, without indentation) behind a statement, at its indentation."""
    return Plan(f"Insert `{text}`", (_Insert(statement, text, True),))


def insert_before(statement: cst.CSTNode, text: str) -> Plan:
    """Insert statements before a statement and its decorators, at its indentation."""
    return Plan(f"Insert `{text}`", (_Insert(statement, text, False),))


@dataclass(frozen=True)
class _ReplaceStatement(Step):
    node: cst.CSTNode
    text: str

    def changes(self, place: Ground) -> Iterator[Change]:
        node = whole_statement(place, self.node)
        holder, _ = _parts(place, node)
        if holder is not None:
            if not _simple(self.text):
                raise Refused("does not fit between semicolons")
            start, end = place.span(node)
            content = self.text
        else:
            block_of(place, node)
            start, end = statement_start(place, node), end_with_semicolon(place, node)
            content = _indented(self.text, indentation(place, start))
        place.refuse_comments(start, end)
        if content != place.text(start, end):
            yield Change(start, end, content)


def replace_statement(statement: cst.CSTNode, text: str) -> Plan:
    """Put statements in place of one, at its indentation; the comment behind it stays."""
    return Plan(f"Replace with `{text}`", (_ReplaceStatement(statement, text),))
