"""Builders that change expressions: calls appended, unwrapped, swapped or replaced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchmemlint.fixes.plan import Change, Ground, Plan, Refused, Step
from torchmemlint.fixes.statements import delete_whole
from torchmemlint.fixes.text import Shape, bare_text, fitted, refuse_unreadable, shape, text_shape

OPERATIONS = (cst.BinaryOperation, cst.UnaryOperation, cst.BooleanOperation, cst.Comparison, cst.IfExp)


@dataclass(frozen=True)
class _CallMethod(Step):
    node: cst.CSTNode
    tail: str

    def changes(self, place: Ground) -> Iterator[Change]:
        if not isinstance(self.node, cst.BaseExpression) or isinstance(self.node, cst.StarredElement):
            raise Refused("not an expression")
        refuse_unreadable(place, self.node, self.tail)
        start, end = place.outer(self.node)
        if shape(self.node) is Shape.PRIMARY:
            yield Change(end, end, self.tail)
        else:
            yield Change(start, start, "(")
            yield Change(end, end, ")" + self.tail)


def call_method(node: cst.CSTNode, method: str, args: str = "") -> Plan:
    """Append `.method(args)` to an expression; in parentheses where it binds less tightly than a call."""
    tail = f".{method}({args})"
    return Plan(f"Append `{tail}`", (_CallMethod(node, tail),))


def _method_call(node: cst.CSTNode) -> tuple[cst.Call, cst.Attribute]:
    """The call and its `receiver.name`. Refused for what is no method call."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or node.func.lpar:
        raise Refused("not a method call")
    return node, node.func


@dataclass(frozen=True)
class _Unwrap(Step):
    node: cst.CSTNode

    def changes(self, place: Ground) -> Iterator[Change]:
        call, attribute = _method_call(self.node)
        refuse_unreadable(place, call)
        statement = _itself(place, call, attribute.value)
        if statement is not None:
            yield from delete_whole(place, statement)
            return
        start, end = place.outer(attribute.value)[1], place.span(call)[1]
        place.refuse_comments(start, end)
        yield Change(start, end, "")


def _itself(place: Ground, call: cst.CSTNode, receiver: cst.CSTNode) -> cst.CSTNode | None:
    """The statement, where it would assign a name or attribute to itself."""
    statement = place.parent(call)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0].target
    if not isinstance(target, (cst.Name, cst.Attribute)):
        return None
    return statement if place.text(*place.span(target)) == place.text(*place.span(receiver)) else None


def unwrap_call(call: cst.CSTNode) -> Plan:
    """`x.contiguous()` becomes `x`: the method call goes, with its arguments; `x = x.contiguous()` goes wholly, but not
    where its block would be empty."""
    name = call.func.attr.value if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) else "call"
    return Plan(f"Remove `.{name}()`", (_Unwrap(call),))


@dataclass(frozen=True)
class _Swap(Step):
    node: cst.CSTNode

    def changes(self, place: Ground) -> Iterator[Change]:
        outer, outer_attribute = _method_call(self.node)
        inner, inner_attribute = _method_call(outer_attribute.value)
        refuse_unreadable(place, outer)
        first = place.outer(inner_attribute.value)[1], place.span(inner)[1]
        second = place.outer(inner)[1], place.span(outer)[1]
        early, late = place.text(*first), place.text(*second)
        if not inner.lpar:
            yield Change(first[0], second[1], late + early)
            return
        if "\n" in early + late:
            raise Refused("a line end would leave its brackets")
        yield Change(*first, late)
        yield Change(*second, early)


def swap_calls(outer_call: cst.CSTNode) -> Plan:
    """`x.clone().detach()` becomes `x.detach().clone()`; arguments go with their methods."""
    return Plan("Swap the two calls", (_Swap(outer_call),))


@dataclass(frozen=True)
class _Replace(Step):
    node: cst.CSTNode
    pieces: tuple[str | cst.CSTNode, ...]

    def changes(self, place: Ground) -> Iterator[Change]:
        if not isinstance(self.node, cst.BaseExpression):
            raise Refused("not an expression")
        text = "".join(self._texts(place))
        refuse_unreadable(place, self.node, text)
        start, end = place.span(self.node)
        self._refuse_lost_comments(place, start, end)
        if isinstance(self.node, cst.GeneratorExp) and not self.node.lpar and "," in text:
            raise Refused("would become several arguments")
        text = fitted(place, self.node, text)
        if self._parentheses_go(text):
            around = place.outer(self.node)
            if b"#" not in place.data[around[0] : start] + place.data[end : around[1]]:
                start, end = around
        if text != place.text(start, end):
            yield Change(start, end, text)

    def _parentheses_go(self, text: str) -> bool:
        """Had only the old expression need of the one pair of parentheses around it?"""
        needed = isinstance(self.node, OPERATIONS) and len(self.node.lpar) == 1
        return needed and "\n" not in text and text_shape(text) is Shape.PRIMARY

    def _texts(self, place: Ground) -> Iterator[str]:
        for i, piece in enumerate(self.pieces):
            if isinstance(piece, str):
                yield piece
                continue
            before = "".join(p for p in self.pieces[:i][-1:] if isinstance(p, str)).rstrip()
            after = "".join(p for p in self.pieces[i + 1 :][:1] if isinstance(p, str)).lstrip()
            yield bare_text(place, piece, before[-1:] in tuple("([,=") and after[:1] in tuple(")],"))

    def _refuse_lost_comments(self, place: Ground, start: int, end: int) -> None:
        """Comments may stay only inside the nodes that are carried over."""
        kept = sorted(place.outer(p) for p in self.pieces if isinstance(p, cst.CSTNode))
        for piece_start, piece_end in kept:
            if start <= piece_start and piece_end <= end:
                place.refuse_comments(start, piece_start)
                start = max(start, piece_end)
        place.refuse_comments(start, end)


def replace(node: cst.CSTNode, *pieces: str | cst.CSTNode) -> Plan:
    """Put `pieces`, joined, in place of an expression; nodes among them stand for their source text, with parentheses
    where they need them. The whole gets parentheses where its new context needs them."""
    return Plan(f"Replace with `{_sketch(pieces)}`", (_Replace(node, pieces),))


def replace_call(call: cst.CSTNode, *pieces: str | cst.CSTNode) -> Plan:
    """`replace` for a call: `replace_call(call, "torch.stack(", items, ")")`."""
    return replace(call, *pieces)


def _sketch(pieces: tuple[str | cst.CSTNode, ...]) -> str:
    return "".join(piece if isinstance(piece, str) else "…" for piece in pieces)


@dataclass(frozen=True)
class _Rename(Step):
    node: cst.CSTNode
    new: str

    def changes(self, place: Ground) -> Iterator[Change]:
        if isinstance(self.node, cst.Attribute):
            refuse_unreadable(place, self.node)
            yield Change(*place.span(self.node.attr), self.new)
        elif isinstance(self.node, cst.Name):
            refuse_unreadable(place, self.node)
            yield Change(*place.span(self.node), self.new)
        else:
            raise Refused("neither a name nor an attribute")


def rename_attribute(node: cst.CSTNode, new: str) -> Plan:
    """`x.old` becomes `x.new`; a bare name read somewhere becomes `new`."""
    return Plan(f"Replace with `{new}`", (_Rename(node, new),))
