"""Suppression comments: which findings they silence, and which of them silence nothing (TML001)."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from torchmemlint.config import nearest
from torchmemlint.findings import Diagnostic, Edit, Fix, Severity
from torchmemlint.source import Source

UNUSED = "TML001"
UNSILENCEABLE = frozenset({"TML000", "TML999"})  # only --ignore hides these
_CODE = r"[A-Z]+[0-9]+"
_NOQA = re.compile(rf"#\s*noqa\b(?:\s*:\s*(?P<codes>{_CODE}(?:[,\s]+{_CODE})*))?", re.IGNORECASE)
_OWN = re.compile(r"#\s*torchmemlint\s*:\s*(?P<word>[\w-]+)\s*(?P<bracket>\[(?P<codes>[^\]]*)\])?")
_WORDS = ("ignore", "ignore-file", "skip-file")
_SKIPPED = frozenset({tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING})


@dataclass
class Directive:
    """One suppression comment. `codes` empty: all codes. `start` and `end`: 0-based columns of what can be removed."""

    row: int
    start: int
    end: int
    kind: str  # "noqa" | "ignore" | "ignore-file" | "skip-file" | an unknown word
    codes: tuple[str, ...] = ()
    target: int = 0  # the row it speaks of
    used: set[str] = field(default_factory=set)

    def covers(self, code: str) -> bool:
        """Does it name this code? Remembers that it was needed."""
        if not self.codes:
            self.used.add(code)
            return True
        hits = [c for c in self.codes if code.startswith(c)]
        self.used.update(hits)
        return bool(hits)


@dataclass
class Suppressions:
    """The suppression comments of a file."""

    directives: list[Directive] = field(default_factory=list)
    spans: Mapping[int, tuple[int, int]] = field(default_factory=dict)  # row -> first and last row of its statement

    @property
    def skips_file(self) -> bool:
        """Is the whole file to be left alone?"""
        return any(d.kind == "skip-file" for d in self.directives)

    def silences(self, diagnostic: Diagnostic) -> bool:
        """Is the finding silenced by a comment? Every comment that speaks of it counts as used."""
        if diagnostic.code in UNSILENCEABLE:
            return False
        rows = {diagnostic.row, diagnostic.noqa_row or diagnostic.row}
        rows.update(row for at in tuple(rows) for row in self.spans.get(at, ()))
        speaking = [d for d in self.directives if d.kind == "ignore-file" or d.target in rows]
        covered = [d.covers(diagnostic.code) for d in speaking if d.kind in ("noqa", "ignore", "ignore-file")]
        return any(covered)


def collect(source: Source, noqa: bool = True) -> Suppressions:
    """The suppression comments of `source`, with `noqa` those that other tools read too. Comments inside strings are
    none."""
    quick = source.data.lower()
    if b"noqa" not in quick and b"torchmemlint" not in quick:
        return Suppressions()
    comments: list[tuple[int, int, str]] = []
    spans: dict[int, tuple[int, int]] = {}
    first = 0
    for token in _tokens(source.text):
        row = token.start[0]
        if token.type == tokenize.COMMENT:
            comments.append((row, token.start[1], token.string))
        elif token.type == tokenize.NEWLINE:
            spans.update(dict.fromkeys(range(first, row + 1), (first, row)) if first else {})
            first = 0
        elif token.type not in _SKIPPED and not first:
            first = row
    directives = [d for row, column, text in comments for d in _directives(row, column, text)]
    directives = [d for d in directives if noqa or d.kind != "noqa"]
    for directive in directives:
        directive.target = _target(source, directive)
    return Suppressions(directives, spans)


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    try:
        yield from tokenize.generate_tokens(io.StringIO(text, newline=None).readline)
    except (tokenize.TokenError, SyntaxError):  # what came before the error has been seen
        return


def _directives(row: int, column: int, text: str) -> Iterator[Directive]:
    for match in _NOQA.finditer(text):
        codes = tuple(re.findall(_CODE, (match["codes"] or "").upper()))
        yield Directive(row, column + match.start(), column + match.end(), "noqa", codes)
    own = _OWN.match(text)
    if own is None:
        return
    codes = tuple(re.findall(r"\w+", (own["codes"] or "").upper()))
    yield Directive(row, column, column + len(text), own["word"].lower(), codes)


def _target(source: Source, directive: Directive) -> int:
    """A `torchmemlint: ignore` on a line of its own speaks of the next line with code."""
    row = directive.row
    if directive.kind != "ignore" or source.line(row)[: directive.start].strip():
        return row
    for after in range(row + 1, len(source.line_starts) + 1):
        text = source.line(after).strip()
        if text and not text.startswith("#"):
            return after
    return row


def unused(source: Source, found: Suppressions, known: Collection[str], active: Collection[str]) -> list[Diagnostic]:
    """TML001 for each of our codes that silenced nothing. `known`: all codes; `active`: those that were looked for.

    A bare `# noqa`, other tools' codes and codes that were not looked for are left alone."""
    result = []
    for directive in found.directives:
        if directive.kind not in ("noqa", *_WORDS):
            result.append(_report(source, directive, _unknown_word(directive), None))
        elif directive.kind != "skip-file" and not _excused(found, directive):
            dead = [c for c in directive.codes if c not in directive.used and _judged(c, directive, known, active)]
            bare = not directive.codes and directive.kind != "noqa" and not directive.used
            if dead or (bare and set(known) <= set(active)):
                result.append(_report(source, directive, _message(dead, known), _removal(source, directive, dead)))
    return result


def _excused(found: Suppressions, directive: Directive) -> bool:
    near = [d for d in found.directives if d.row == directive.row or d.kind == "ignore-file"]
    return any(UNUSED in d.codes for d in near)


def _judged(code: str, directive: Directive, known: Collection[str], active: Collection[str]) -> bool:
    """Can we tell that this code is of no use? Not if it is another tool's, or not all its rules were run."""
    rules = [k for k in known if k.startswith(code)]
    if not rules:
        return code.startswith("TML") or directive.kind != "noqa"
    return all(rule in active for rule in rules)


def _unknown_word(directive: Directive) -> str:
    return f"`torchmemlint: {directive.kind}` means nothing{nearest(directive.kind, _WORDS)}"


def _message(dead: Sequence[str], known: Collection[str]) -> str:
    if not dead:
        return "nothing is suppressed here: this comment can go"
    unknown = [c for c in dead if not any(k.startswith(c) for k in known)]
    if unknown:
        return f"no rule has the code {unknown[0]}{nearest(unknown[0], known)}"
    return f"{', '.join(dead)} {'is' if len(dead) == 1 else 'are'} not reported here: the suppression can go"


def _report(source: Source, directive: Directive, message: str, fix: Fix | None) -> Diagnostic:
    start, end = _offset(source, directive.row, directive.start), _offset(source, directive.row, directive.end)
    begin, stop = source.location(start), source.location(end)
    return Diagnostic(
        source.path, begin, begin.row, begin.column, UNUSED, message, stop, "unused-suppression",
        Severity.WARNING, (), fix, directive.row, end,
    )  # fmt: skip


def _offset(source: Source, row: int, column: int) -> int:
    return source.line_starts[row - 1] + len(source.line(row)[:column].encode())


def _removal(source: Source, directive: Directive, dead: Sequence[str]) -> Fix | None:
    """Take the dead codes out; the whole comment when none is left, and its line when nothing else is on it."""
    line, row = source.line(directive.row), directive.row
    kept = [code for code in directive.codes if code not in dead]
    if kept:
        return _edit(source, row, directive.start, directive.end, _rewritten(line, directive, kept))
    before, after = line[: directive.start], line[directive.end :]
    if after.strip() and not after.lstrip().startswith("#"):
        after = after if directive.kind != "noqa" else "# " + after.lstrip(" :-")
        return _edit(source, row, directive.start, len(line), after)
    if before.strip() or after.strip():
        glue = "" if not after.strip() or not before.strip() else "  "
        return _edit(source, row, len(before.rstrip()), len(line), glue + after.strip())
    if row < len(source.line_starts):
        return _fix(source, source.line_starts[row - 1], source.line_starts[row], "")
    return _edit(source, row, 0, len(line), "")


def _rewritten(line: str, directive: Directive, kept: Sequence[str]) -> str:
    text = line[directive.start : directive.end]
    opening = text.index("[") + 1 if directive.kind != "noqa" else text.index(":") + 1
    closing = text.index("]") if directive.kind != "noqa" else len(text)
    space = " " if text[opening : opening + 1] == " " else ""
    return text[:opening] + space + ", ".join(kept) + text[closing:]


def _edit(source: Source, row: int, start: int, end: int, content: str) -> Fix:
    return _fix(source, _offset(source, row, start), _offset(source, row, end), content)


def _fix(source: Source, start: int, end: int, content: str) -> Fix:
    edit = Edit(start, end, content, source.location(start), source.location(end))
    return Fix("remove the unused suppression", (edit,), safe=True)


def add_noqa(source: Source, diagnostics: Sequence[Diagnostic]) -> tuple[bytes, int]:
    """The text (UTF-8) with a `# noqa` for each finding, and how many lines were changed."""
    lines: dict[int, set[str]] = {}
    ends = _commentable(source.text)
    for diagnostic in diagnostics:
        wanted = diagnostic.noqa_row or diagnostic.row
        row = next((r for r in ends if r >= wanted), None)
        if diagnostic.code not in UNSILENCEABLE | {UNUSED} and row is not None:
            lines.setdefault(row, set()).add(diagnostic.code)
    data = source.data
    existing = {d.row: d for d in collect(source).directives if d.kind == "noqa" and d.codes}
    for row in sorted(lines, reverse=True):
        data = _with_noqa(source, data, row, lines[row], existing.get(row))
    ast.parse(data)
    return data, len(lines)


def _commentable(text: str) -> list[int]:
    """Rows that can end in a comment: not those inside a string or before a backslash's line break."""
    return sorted({t.start[0] for t in _tokens(text) if t.type in (tokenize.NL, tokenize.NEWLINE)})


def _with_noqa(source: Source, data: bytes, row: int, codes: set[str], existing: Directive | None) -> bytes:
    line = source.line(row)
    if existing is not None:
        merged = "# noqa: " + ", ".join(dict.fromkeys([*existing.codes, *sorted(codes)]))
        start, end = _offset(source, row, existing.start), _offset(source, row, existing.end)
        return data[:start] + merged.encode() + data[end:]
    end = _offset(source, row, len(line.rstrip()))
    return data[:end] + f"  # noqa: {', '.join(sorted(codes))}".encode() + data[_offset(source, row, len(line)) :]
