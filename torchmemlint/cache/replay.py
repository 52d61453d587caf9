"""Look-ups of an earlier run asked again: is the answer the same?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from torchmemlint.cache.grounds import Look, Stamper
from torchmemlint.index.model import ClassInfo, FileIndex, FunctionInfo
from torchmemlint.index.project import ProjectIndex
from torchmemlint.index.stamps import Stamps
from torchmemlint.index.view import View

OF_FUNCTION = frozenset({"owner", "callers", "attribute_callers", "has_more_callers", "may_freeze", "names"})
OF_CLASS = frozenset(
    "mro external_bases all_bases is_module_class method methods methods_naming subclasses heirs".split()
)
OF_FILE = frozenset({"indexed_class", "lookup", "dotted", "canonical", "names_any"})
OF_TEXT = frozenset(
    "header whole everything at naming linked linked_name_any definitions component mentions mentioned".split()
)


class Replay:
    """Asks what an earlier run has asked, of the project as it is now."""

    def __init__(self, project: ProjectIndex, stamps: Mapping[str, Stamps]) -> None:
        self.project = project
        self.view = View(project)
        self.stamper = Stamper(stamps)

    def changed(self, looks: Iterable[tuple[int, Look, int]]) -> set[int]:
        """The names of those look-ups (name, look-up, stamp) whose answer has changed."""
        return {name for name, look, known in looks if self._stamp(look) != known}

    def _stamp(self, look: Look) -> int | None:
        """The stamp of the answer; None where there is none any more."""
        try:
            return self.stamper.of(look, self._answer(*look))
        except (KeyError, TypeError, ValueError):
            return None

    def _answer(self, kind: str, *given: str) -> Any:
        if kind in OF_TEXT:
            return self._of_texts(kind, given)
        if kind == "resolve":
            return self.view.resolve(given[0], self._file(given[1]) if given[1] else None)
        if kind in OF_FILE:
            file, rest = self._file(given[0]), given[1:]
            return (
                self.view.names_any(file, frozenset(rest))
                if kind == "names_any"
                else _ask(self.view, kind, file, *rest)
            )
        if kind in OF_FUNCTION:
            info = self._function(*given[:2])
            if kind == "has_more_callers":
                return self.view.has_more_callers(info, int(given[2]))
            return _ask(self.view, kind, info, *given[2:])
        if kind == "heirs":
            return self.view.heirs(self._class(*given[:2]), self._function(*given[2:]))
        if kind in OF_CLASS:
            return _ask(self.view, kind, self._class(*given[:2]), *given[2:])
        raise ValueError(kind)

    def _of_texts(self, kind: str, given: tuple[str, ...]) -> Any:
        if kind in ("mentions", "mentioned"):
            return _ask(self.view, kind, given[0], given[1] or None)
        if kind == "linked_name_any":
            return self.view.linked_name_any(given[0], frozenset(given[1:]))
        if kind in ("linked", "naming", "component"):
            self._file(given[0])
        return _ask(self.view, kind, *given)

    def _file(self, path: str) -> FileIndex:
        return self.project.files[path]

    def _function(self, path: str, key: str) -> FunctionInfo:
        return self.project.files[path].functions[key]

    def _class(self, path: str, key: str) -> ClassInfo:
        return self.project.files[path].classes[key]


def _ask(view: View, kind: str, *given: Any) -> Any:
    return getattr(view, kind)(*given)
