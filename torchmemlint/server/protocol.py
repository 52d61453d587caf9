"""Findings, fixes and explanations as the protocol has them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from lsprotocol import types as lsp

from torchmemlint.findings import Diagnostic, Fix, Location, Severity
from torchmemlint.report import docs_url
from torchmemlint.source import Source
from torchmemlint.suppress import UNSILENCEABLE, UNUSED, add_noqa

_SEVERITY = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.HINT: lsp.DiagnosticSeverity.Information,
}
FIX_ALL = f"{lsp.CodeActionKind.SourceFixAll.value}.torchmemlint"


class Translator:
    """Places of one document in the units that the client counts in."""

    def __init__(self, source: Source, encoding: str) -> None:
        self.source, self.encoding = source, encoding

    def position(self, place: Location) -> lsp.Position:
        """A place as the client counts."""
        before = self.source.line(place.row)[: place.column - 1]
        return lsp.Position(max(place.row - 1, 0), _units(before, self.encoding))

    def range(self, start: Location, end: Location) -> lsp.Range:
        """A range as the client counts; never an inverted one."""
        first = self.position(start)
        last = self.position(end) if (end.row, end.column) >= (start.row, start.column) else first
        return lsp.Range(first, last)

    def diagnostic(self, d: Diagnostic) -> lsp.Diagnostic:
        """A finding."""
        url = docs_url(d.code)
        return lsp.Diagnostic(
            self.range(d.location, d.end_location), d.message, _SEVERITY[d.severity], d.code,
            lsp.CodeDescription(url) if url else None, "torchmemlint",
            tags=[lsp.DiagnosticTag.Unnecessary] if d.code == UNUSED else None,
            related_information=[self._related(d, i) for i in range(len(d.related))] or None,
        )  # fmt: skip

    def _related(self, d: Diagnostic, number: int) -> lsp.DiagnosticRelatedInformation:
        from pygls import uris

        related = d.related[number]
        here = related.filename == self.source.path
        span = self.range(related.location, related.end_location) if here else _plain(related.location)
        return lsp.DiagnosticRelatedInformation(lsp.Location(uris.from_fs_path(related.filename) or "", span),
                                                related.message)  # fmt: skip

    def edits(self, fix: Fix) -> list[lsp.TextEdit]:
        """A fix."""
        return [lsp.TextEdit(self.range(e.location, e.end_location), e.content) for e in fix.edits]

    def changes(self, data: bytes) -> list[lsp.TextEdit]:
        """What makes the document's text that in `data`, by whole lines."""
        old, new = _lines(self.source.text), _lines(data.decode("utf-8"))
        return [
            lsp.TextEdit(lsp.Range(lsp.Position(a, 0), lsp.Position(b, 0)), "".join(new[c:d]))
            for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
            if kind != "equal"
        ]


def _units(text: str, encoding: str) -> int:
    if encoding == "utf-16":
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    return len(text.encode("utf-8", "surrogatepass")) if encoding == "utf-8" else len(text)


def _plain(place: Location) -> lsp.Range:
    """The beginning of a place in a file whose text isn't at hand."""
    at = lsp.Position(place.row - 1, place.column - 1)
    return lsp.Range(at, at)


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").splitlines(keepends=True) if text else []


def overlaps(a: lsp.Range, b: lsp.Range) -> bool:
    """Do two ranges share a place or touch?"""
    return not (_key(a.end) < _key(b.start) or _key(b.end) < _key(a.start))


def _key(position: lsp.Position) -> tuple[int, int]:
    return position.line, position.character


def actions(
    found: Sequence[Diagnostic], at: lsp.Range, uri: str, version: int | None, translator: Translator
) -> list[lsp.CodeAction]:
    """The fixes of the findings in a range, safe ones first, and their suppression."""
    near = [(d, translator.diagnostic(d)) for d in found]
    near = [(d, shown) for d, shown in near if overlaps(shown.range, at)]
    result = []
    for d, shown in sorted(near, key=lambda pair: not (pair[0].fix and pair[0].fix.safe)):
        if d.fix is not None:
            why = "" if d.fix.safe else f" (unsafe{f': {d.fix.reason}' if d.fix.reason else ''})"
            title, edit = f"{d.code}: {d.fix.message}{why}", workspace_edit(uri, version, translator.edits(d.fix))
            kind = lsp.CodeActionKind.QuickFix
            result.append(lsp.CodeAction(title, kind, [shown], d.fix.safe, edit=edit))
    return result + [action for d, shown in near if (action := _suppression(d, shown, uri, version, translator))]


def _suppression(
    d: Diagnostic, shown: lsp.Diagnostic, uri: str, version: int | None, translator: Translator
) -> lsp.CodeAction | None:
    if d.code in UNSILENCEABLE or d.code == UNUSED:
        return None
    try:
        data, lines = add_noqa(translator.source, [d])
    except SyntaxError:
        return None
    edit = workspace_edit(uri, version, translator.changes(data))
    title = f"Suppress {d.code} on this line"
    return lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, [shown], edit=edit) if lines else None


def fix_all(uri: str, version: int | None, edits: list[lsp.TextEdit]) -> lsp.CodeAction:
    """The action that makes all fixes of a document."""
    edit = workspace_edit(uri, version, edits)
    return lsp.CodeAction("torchmemlint: make all safe fixes", FIX_ALL, edit=edit)


def workspace_edit(uri: str, version: int | None, edits: list[lsp.TextEdit]) -> lsp.WorkspaceEdit:
    """Edits of one document, bound to the version they were made for."""
    document = lsp.OptionalVersionedTextDocumentIdentifier(uri, version)
    changes: list[Any] = [lsp.TextDocumentEdit(document, list(edits))]
    return lsp.WorkspaceEdit(document_changes=changes)


def hover(found: Sequence[Diagnostic], at: lsp.Position, translator: Translator) -> lsp.Hover | None:
    """The explanation of the findings at a place."""
    from torchmemlint.explain import markdown

    here = lsp.Range(at, at)
    shown = [(d, translator.range(d.location, d.end_location)) for d in found]
    near = [(d, span) for d, span in shown if overlaps(span, here)]
    if not near:
        return None
    text = "\n\n---\n\n".join(markdown(code) for code in dict.fromkeys(d.code for d, _ in near))
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), near[0][1])
