"""Moving the end of an `except` block behind its `try` statement, where the exception is gone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from torchmemlint.fixes.lines import indentation, row_of, statement_start
from torchmemlint.fixes.plan import Change, Ground, Plan, Refused, Step, children

TRACED = frozenset({"exc_info", "print_exc", "format_exc", "exception", "last_traceback", "exc_text"})
"""Names that speak of the exception being handled without naming it."""


@dataclass(frozen=True)
class _MoveBehind(Step):
    handler: cst.CSTNode
    work: cst.CSTNode

    def changes(self, place: Ground) -> Iterator[Change]:
        handler, attempt, tail = self._parts(place)
        name = handler.name.name if handler.name is not None else None
        _refuse_uses_of_exception(tail, name.value if isinstance(name, cst.Name) else None)
        start, first = statement_start(place, attempt), statement_start(place, tail[0])
        base, inner = indentation(place, start), indentation(place, first)
        rows = place.unit.source.line_starts
        flag = _unused_name(place.unit.source.text)
        at, behind = rows[row_of(place, start) - 1], rows[row_of(place, first) - 1]
        yield Change(at, at, f"{base}{flag} = False\n")
        yield Change(behind, behind, f"{inner}{flag} = True\n{base}if {flag}:\n")

    def _parts(self, place: Ground) -> tuple[cst.ExceptHandler, cst.Try, Sequence[cst.CSTNode]]:
        """The handler, its statement, and the statements of the handler from the one that does the work."""
        handler = self.handler
        attempt = place.parent(handler)
        if not isinstance(handler, cst.ExceptHandler) or not isinstance(attempt, cst.Try):
            raise Refused("not an except block")
        if attempt.orelse is not None or attempt.finalbody is not None or attempt.handlers[-1] is not handler:
            raise Refused("not the end of its statement")
        block = handler.body
        if not isinstance(block, cst.IndentedBlock):
            raise Refused("on one line")
        around = [self.work, *place.ancestors(self.work)]
        at = next((i for i, statement in enumerate(block.body) if any(statement is node for node in around)), None)
        if at is None:
            raise Refused("not in the block")
        return handler, attempt, block.body[at:]


def _refuse_uses_of_exception(tail: Sequence[cst.CSTNode], name: str | None) -> None:
    waiting = list(tail)
    while waiting:
        node = waiting.pop()
        if isinstance(node, cst.Raise) and node.exc is None:
            raise Refused("raises the exception again")
        if isinstance(node, cst.Name) and node.value in TRACED | {name}:
            raise Refused("speaks of the exception")
        waiting.extend(children(node))


def _unused_name(text: str) -> str:
    name = "failed"
    while re.search(rf"\b{name}\b", text):
        name += "_"
    return name


def move_behind(handler: cst.CSTNode, work: cst.CSTNode) -> Plan:
    """Move the statements of an `except` block, from the one with `work` on, behind the `try` statement, under a flag
    that the block sets. Not made where they speak of the exception, or something else follows the block."""
    return Plan("Move it behind the `except` block", (_MoveBehind(handler, work),))
