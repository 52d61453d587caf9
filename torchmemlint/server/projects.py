"""What the language server knows of folders and open documents; nothing here speaks the protocol."""

# Paths are strings here, spelled as the user spelled them.
# ruff: noqa: PTH110, PTH111, PTH118, PTH120

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from torchmemlint.config import Config, discover, load
from torchmemlint.engine import Session
from torchmemlint.findings import Diagnostic, Fix
from torchmemlint.fixes import apply_checked
from torchmemlint.mend import ROUNDS, fixable
from torchmemlint.source import Source, SourceError, decode


@dataclass(frozen=True)
class Wishes:
    """What the editor asks for instead of the settings files' values."""

    config: str | None = None
    hints: bool | None = None

    def settings(self, start: str) -> Config:
        """The settings for a folder or file. Raises ConfigError."""
        from torchmemlint.api import validate

        config = load(os.path.expanduser(self.config)) if self.config else discover(start)
        validate(config)
        return config if self.hints is None else replace(config, hints=self.hints)


@dataclass
class Project:
    """The files of a folder, linked. The texts of open documents go before those on disk."""

    folder: str
    config: Config
    session: Session = field(init=False)
    taken: dict[str, str] = field(default_factory=dict)  # path -> text of another open document, when it was asked for

    def __post_init__(self) -> None:
        self.session = Session(self.config)
        if self.folder:
            self.session.add([self.folder])

    def show(self, source: Source) -> bool:
        """Take over a document's text. False: the settings exclude it."""
        path, session = source.path, self.session
        if path not in session.items:
            if self.folder and os.path.exists(path) and path not in _found(self.folder, self.config):
                return False
            session.extend([path], {path: source})
        elif path not in session.texts or session.texts[path].data != source.data:
            session.extend([path], {path: source})
        return True

    def take(self, path: str, text: str) -> None:
        """Take over the text of an open document that is not the one to check, unless it is here already."""
        if self.taken.get(path) is not text:
            self.taken[path] = text
            with contextlib.suppress(SourceError):
                self.show(source_of(path, text))

    def forget(self, path: str) -> None:
        """A document was closed: what is on disk counts again."""
        self.taken.pop(path, None)
        if self.session.texts.pop(path, None) is not None:
            self.session.reread([path])

    def reread(self, paths: Sequence[str]) -> None:
        """Files changed on disk."""
        self.session.reread([path for path in paths if path not in self.session.texts])

    def check(self, source: Source) -> list[Diagnostic]:
        """The findings in a document."""
        self.taken.pop(source.path, None)
        return self.session.check([source.path]) if self.show(source) else []

    def mended(self, source: Source, unsafe: bool) -> Source:
        """The document with all its safe fixes made, with `unsafe` all fixes; the project is left as it was."""
        text, bad = source, set[Fix]()
        try:
            for _ in range(ROUNDS):
                found = [d.fix for d in self.check(text) if d.fix and fixable(d, unsafe) and d.fix not in bad]
                data, _, broken = apply_checked(text.data, list(dict.fromkeys(found)))
                bad.update(broken)
                if data == text.data:
                    break
                text = replace(text, data=data)
        finally:
            self.show(source)
        return text


def _found(folder: str, config: Config) -> set[str]:
    from torchmemlint.discover import discover as files

    return set(files([folder], config))


class Projects:
    """All folders of the editor, each a project made when the first of its documents is checked."""

    def __init__(self) -> None:
        self.folders: list[str] = []
        self.wishes = Wishes()
        self._known: dict[str, Project] = {}

    def _folder(self, path: str) -> str:
        """The innermost folder around a document; empty where there is none."""
        around = [f for f in self.folders if path == f or path.startswith(os.path.join(f, ""))]
        return max(around, key=len, default="")

    def together(self, path: str, other: str) -> bool:
        """Do two documents belong to one project?"""
        return bool(self._folder(path)) and self._folder(path) == self._folder(other)

    def of(self, path: str) -> Project:
        """The project of a document: the innermost folder around it, or one of its own. Raises ConfigError."""
        folder = self._folder(path)
        key = folder or path
        if key not in self._known:
            self._known[key] = Project(folder, self.wishes.settings(folder or os.path.dirname(path)))
        return self._known[key]

    def forget(self, path: str | None = None) -> None:
        """Settings or files came or went: start anew. With a path: the document was closed."""
        if path is None:
            self._known.clear()
            return
        self._known.pop(path, None)
        for project in self._known.values():
            project.forget(path)

    def reread(self, paths: Sequence[str]) -> None:
        """Files changed on disk."""
        for project in self._known.values():
            project.reread(paths)


def source_of(path: str, text: str) -> Source:
    """A document's text. Raises SourceError."""
    try:
        return decode(text.encode("utf-8"), path)
    except UnicodeEncodeError:
        raise SourceError("half a surrogate pair") from None
