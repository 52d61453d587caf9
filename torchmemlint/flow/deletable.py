"""Where a `del` is right: behind it nothing may read the name before it is bound anew, and before it the name must be
bound on every way that control can take."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import libcst as cst

from torchmemlint.flow.timeline import Point, Timeline

SWALLOWING = frozenset({"suppress", "raises", "assertRaises", "assertRaisesRegex", "ExitStack"})
FAILS = frozenset({"read", "read all", "del"})  # where the name is missed once it is gone


class _Marked(Timeline):
    """A timeline with a point "mark" behind one statement, where the new line would stand."""

    def __init__(self, body: cst.CSTNode, statement: cst.CSTNode) -> None:
        self._marked = statement
        super().__init__(body, lambda node: [])

    def _behind(self, statement: cst.CSTNode) -> None:
        if statement is self._marked:
            self._add("mark")


def deletable(body: cst.CSTNode, parameters: Collection[str], statement: cst.CSTNode, names: Iterable[str]) -> bool:
    """May all `names` be deleted right behind `statement` of a function with this body and these parameters?"""
    timeline = _Marked(body, statement)
    points = timeline.points
    mark = next((i for i, point in enumerate(points) if point.kind == "mark"), None)
    if mark is None:
        return False
    before: list[list[int]] = [[] for _ in points]
    for index, point in enumerate(points):
        for after in point.after:
            before[after].append(index)
    return all(
        name not in timeline.captured
        and not _missed(points, mark, name)
        and _bound(points, before, mark, name, name in parameters)
        for name in names
    )


def _missed(points: list[Point], mark: int, name: str) -> bool:
    """Is the name read, or deleted again, on some way behind the mark before it is bound anew?"""
    waiting, seen = list(points[mark].after), set[int]()
    while waiting:
        index = waiting.pop()
        if index in seen:
            continue
        seen.add(index)
        point = points[index]
        if point.kind == "read all" or (point.kind in FAILS and point.name == name):
            return True
        if not (point.kind == "bind" and point.name == name):
            waiting.extend(point.after)
    return False


def _bound(points: list[Point], before: list[list[int]], mark: int, name: str, given: bool) -> bool:
    """Is the name bound on every way to the mark? `given`: it is a parameter."""
    waiting, seen = [mark], set[int]()
    while waiting:
        index = waiting.pop()
        if index in seen:
            continue
        seen.add(index)
        for earlier in before[index]:
            point = points[earlier]
            if point.kind == "del" and point.name == name:
                return False
            if not (point.kind == "bind" and point.name == name):
                waiting.append(earlier)
        if index == 0 and not given:
            return False
    return bool(before[mark]) or given


def swallows(context: cst.BaseExpression) -> bool:
    """May the context end a block early and let the program go on?"""
    func = context.func if isinstance(context, cst.Call) else context
    name = func.attr if isinstance(func, cst.Attribute) else func
    return isinstance(name, cst.Name) and name.value in SWALLOWING
