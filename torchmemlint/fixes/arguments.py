"""Builders that change the arguments of a call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchmemlint.fixes.plan import Change, Ground, Plan, Refused, Step
from torchmemlint.fixes.text import Shape, refuse_unreadable, text_shape


def _call(place: Ground, node: cst.CSTNode, text: str) -> cst.Call:
    if not isinstance(node, cst.Call):
        raise Refused("not a call")
    refuse_unreadable(place, node, text)
    return node


def _named(call: cst.Call, name: str) -> int | None:
    """Position of the keyword argument `name`."""
    for i, arg in enumerate(call.args):
        if arg.keyword is not None and arg.keyword.value == name:
            return i
    return None


def _value(text: str) -> str:
    return f"({text})" if text_shape(text) is Shape.BARE else text


def _line_indent(data: bytes, offset: int) -> str | None:
    """The blanks before `offset` if nothing else precedes it on its line."""
    start = max(data.rfind(b"\n", 0, offset), data.rfind(b"\r", 0, offset)) + 1
    blank = data[start:offset].decode("utf-8")
    return blank if start and not blank.strip(" \t") else None


def _rest_of_line(data: bytes, offset: int) -> int:
    """Offset of the line end after `offset`."""
    ends = [i for i in (data.find(b"\n", offset), data.find(b"\r", offset)) if i >= 0]
    return min(ends, default=len(data))


@dataclass(frozen=True)
class _SetKeyword(Step):
    node: cst.CSTNode
    name: str
    value: str

    def changes(self, place: Ground) -> Iterator[Change]:
        call, value = _call(place, self.node, self.value), _value(self.value)
        at = _named(call, self.name)
        if at is not None:
            start, end = place.outer(call.args[at].value)
            place.refuse_comments(start, end)
            if place.text(start, end) != value:
                yield Change(start, end, value)
        elif any(arg.star for arg in call.args):
            raise Refused("starred arguments may hold it already")
        elif call.args:
            yield from self._append(place, call.args[-1], f"{self.name}={value}")
        else:
            end = place.span(call)[1] - 1
            yield Change(end, end, f"{self.name}={value}")

    def _append(self, place: Ground, last: cst.Arg, text: str) -> Iterator[Change]:
        start, end = place.outer(last.value)
        if isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
            yield Change(start, start, "(")
            yield Change(end, end, f"), {text}")
            return
        comma = place.span(last.comma)[1] if isinstance(last.comma, cst.Comma) else None
        indent = _line_indent(place.data, place.span(last)[0])
        line_end = _rest_of_line(place.data, comma or end)
        between = place.text(comma or end, line_end).strip()
        if indent is not None and comma is None and self._one_a_line(place):
            yield Change(end, end, f",\n{indent}{text}")
            return
        own_line = indent is not None and (not between or between.startswith("#")) and line_end < len(place.data)
        if own_line and comma is None and line_end == end:
            yield Change(end, end, f",\n{indent}{text}")
        elif own_line and comma is None:
            yield Change(end, end, ",")
            yield Change(line_end, line_end, f"\n{indent}{text}")
        elif own_line:
            yield Change(line_end, line_end, f"\n{indent}{text},")
        elif comma is None:
            yield Change(end, end, f", {text}")
        else:
            yield Change(comma, comma, f" {text},")

    def _one_a_line(self, place: Ground) -> bool:
        """Does each argument begin a line, the closing bracket standing behind the last?"""
        call = _call(place, self.node, "")
        starts = [place.span(arg)[0] for arg in call.args]
        opened = [_line_indent(place.data, start) is not None for start in starts[1:]]
        end = place.outer(call.args[-1].value)[1]
        return len(starts) > 2 and all(opened) and place.text(end, place.span(call)[1]).strip(" ") == ")"


def set_keyword(call: cst.CSTNode, name: str, value_text: str) -> Plan:
    """Give the call the keyword argument `name=value_text`, new or in place of its value. Not made where `*` or `**`
    arguments may hold it; the caller knows that no positional argument does."""
    return Plan(f"Set `{name}={value_text}`", (_SetKeyword(call, name, value_text),))


@dataclass(frozen=True)
class _RemoveKeyword(Step):
    node: cst.CSTNode
    name: str

    def changes(self, place: Ground) -> Iterator[Change]:
        call = _call(place, self.node, "")
        at = _named(call, self.name)
        if at is None:
            raise Refused("no such keyword")
        start, end = self._range(place, call, at)
        place.refuse_comments(start, end)
        yield Change(start, end, "")

    def _range(self, place: Ground, call: cst.Call, at: int) -> tuple[int, int]:
        arg, args = call.args[at], call.args
        if at + 1 < len(args):
            return place.span(arg)[0], place.span(args[at + 1])[0]
        if at > 0:
            return place.outer(args[at - 1].value)[1], place.outer(arg.value)[1]
        return place.span(call.whitespace_before_args)[0], place.span(call)[1] - 1


def remove_keyword(call: cst.CSTNode, name: str) -> Plan:
    """Take the keyword argument `name` from the call, with the right comma. Not made where a comment would be lost."""
    return Plan(f"Remove `{name}=`", (_RemoveKeyword(call, name),))
