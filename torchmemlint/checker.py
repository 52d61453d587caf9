"""Runs the rules over a file: which functions deserve it, their events, the findings as plain data."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from torchmemlint import knowledge
from torchmemlint.borrowed import Borrowed
from torchmemlint.cache.grounds import Grounds, Ledger
from torchmemlint.files import special
from torchmemlint.findings import Diagnostic, Finding, Fix, Place, Related, Severity
from torchmemlint.fixes import resolve
from torchmemlint.flow.closing import events
from torchmemlint.flow.events import Event, OpClosed
from torchmemlint.flow.program import Program
from torchmemlint.index.marks import RUNS_MODULES
from torchmemlint.registry import Rule
from torchmemlint.roomy import roomy
from torchmemlint.source import SourceError

if TYPE_CHECKING:
    from torchmemlint.flow.function import FunctionFlow
    from torchmemlint.index.model import FileIndex, FunctionInfo
    from torchmemlint.index.stamps import Stamps
    from torchmemlint.source import Source

FRAMES = 12_000  # of Python's stack: expressions within expressions, times functions that wait for each other
Subscription = tuple[Rule, str]


class Listeners:
    """Which methods of some rules hear which events."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.by_event: dict[type[Event], list[Subscription]] = {}
        self.by_operation: dict[str, list[Subscription]] = {}
        for rule in rules:
            for event, names, attribute in rule.subscriptions():
                if event is OpClosed and names:
                    for name in names:
                        self.by_operation.setdefault(name, []).append((rule, attribute))
                else:
                    self.by_event.setdefault(event, []).append((rule, attribute))

    def of(self, event: Event) -> Sequence[Subscription]:
        """Those of one event."""
        if isinstance(event, OpClosed):
            return self.by_operation[event.op.name]
        return self.by_event.get(type(event), ())


class Choice:
    """Which of some rules may find something in a function, by its words."""

    def __init__(self, rules: Iterable[Rule], quiet: Collection[str]) -> None:
        """`quiet`: codes of rules whose hints nobody sees."""
        self.quiet = quiet
        self._always = set[Rule]()
        self._by_word: dict[str, list[Rule]] = {}
        for rule in rules:
            if rule.decides_itself():
                self._always.add(rule)
            for word in rule.triggers() | ({RUNS_MODULES} if rule.modules else frozenset()):
                self._by_word.setdefault(word, []).append(rule)
        self._words = frozenset(self._by_word)

    def of(self, info: FunctionInfo, file: FileIndex, words: frozenset[str]) -> frozenset[str]:
        """The codes of those rules; `words`: of the function, with its pseudo-words."""
        asked = self._always.union(*(self._by_word[word] for word in words & self._words))
        return frozenset(rule.code for rule in asked if rule.matters(info, file, words, rule.code not in self.quiet))


_frames = Borrowed(sys.getrecursionlimit, sys.setrecursionlimit, lambda limit: max(limit, FRAMES))


class Checker:
    """The rules bound to a program."""

    def __init__(
        self,
        program: Program,
        rules: Sequence[Rule],
        quiet: Collection[str] = (),
        stamps: Mapping[str, Stamps] | None = None,
    ) -> None:
        """`quiet`: codes of rules whose hints nobody sees; `stamps`: of the files, where what findings rest on is
        noted."""
        self.program = program
        self.ledger = Ledger(program, stamps) if stamps is not None else None
        self.quiet = frozenset(quiet)
        self.rules = rules
        self._of_operators = {rule.code for rule in rules if rule.reads_operators()}
        self._choices: dict[tuple[Rule, ...], Choice] = {}
        self._listeners: dict[frozenset[str] | None, Listeners] = {}

    def diagnostics(self, path: str) -> list[Diagnostic]:
        """All findings in a file, before suppression; a crash in a rule or function is one of them (TML999)."""
        self.program.questions.tidy()
        with _frames.taken(), self.program.questions.about(("file", path)):
            found = roomy(lambda: self._diagnostics(path))
            for other in {related.filename for each in found for related in each.related} - {path}:
                self.program.project.whole(other)  # places in it are reported
            return found

    def grounds(self) -> Grounds | None:
        """What the findings since the last time rest on; None where it isn't noted."""
        return self.ledger.taken() if self.ledger is not None else None

    def text(self, path: str) -> Source:
        """The text of a file as the program has it. Raises SourceError."""
        return self.program.text(path)

    def _diagnostics(self, path: str) -> list[Diagnostic]:
        index = self.program.project.header(path)
        if _of_another_framework(index):
            return []
        found: dict[tuple[str, int, int], Diagnostic] = {}
        choice = self._choice(index)
        for info in index.functions.values():
            active = choice.of(info, index, self.program.project.marks(info, own=True))
            if not active:
                continue
            for diagnostic in self._function(info, active):
                key = (diagnostic.code, diagnostic.row, diagnostic.column)
                if diagnostic.filename == path and key not in found:
                    found[key] = diagnostic
        return sorted(found.values())

    def _choice(self, index: FileIndex) -> Choice:
        """Among the rules that a file concerns. (Many files concern the same ones.)"""
        rules = tuple(rule for rule in self.rules if rule.concerns(index))
        if rules not in self._choices:
            self._choices[rules] = Choice(rules, self.quiet)
        return self._choices[rules]

    def _function(self, info: FunctionInfo, active: frozenset[str]) -> Iterator[Diagnostic]:
        try:
            flow = self.flow(info, active)
        except Exception:
            yield crash(info, "the analysis", traceback.format_exc())
            return
        if flow is None:
            return
        for finding in self.findings(flow, active):
            if finding.severity is Severity.HINT and finding.code in self.quiet:
                continue  # before its place is looked up
            try:
                yield finding if isinstance(finding, Diagnostic) else plain(finding)
            except SourceError as error:
                yield special(info.path, "TML000", error.message)
            except Exception:
                yield crash(info, finding.code, traceback.format_exc())

    def flow(self, info: FunctionInfo, active: frozenset[str] | None = None) -> FunctionFlow | None:
        """The interpretation that is reported on to the active rules: with what the callers pass, where that decides a
        kind that they ask for."""
        flow = self.program.flow(info)
        unsettled = flow.frame.unsettled & {p.name for p in info.parameters} if flow is not None else ()
        if not unsettled or active is not None and active <= self._of_operators:
            return flow
        context = self.program.callers.context(info, unsettled)
        return (self.program.flow(info, context) or flow) if context else flow

    def findings(self, flow: FunctionFlow, active: frozenset[str] | None = None) -> Iterator[Finding | Diagnostic]:
        """Deliver a function's events to the active rules; to all where none are named."""
        listeners = self._listening(active)
        for event in events(flow, listeners.by_event, listeners.by_operation):
            for rule, attribute in listeners.of(event):
                try:
                    yield from getattr(rule, attribute)(event)
                except SourceError as error:
                    yield special(flow.info.path, "TML000", error.message)
                except Exception:
                    yield crash(flow.info, rule.code, traceback.format_exc())

    def _listening(self, active: frozenset[str] | None) -> Listeners:
        """Those of the active rules. (Many functions have the same ones.)"""
        if active not in self._listeners:
            chosen = (rule for rule in self.rules if active is None or rule.code in active)
            self._listeners[active] = Listeners(chosen)
        return self._listeners[active]


def _of_another_framework(index: FileIndex) -> bool:
    """Does the file import a library like torch, and never name torch?"""
    imported = {target.partition(".")[0] for target in index.imports.values()} if not index.mentions_torch else set()
    return not imported.isdisjoint(knowledge.other_frameworks())


def crash(info: FunctionInfo, what: str, trace: str) -> Diagnostic:
    """TML999: `what` failed on a function; the rest of the run goes on."""
    last = trace.strip().splitlines()
    where = next((line.strip() for line in reversed(last) if line.strip().startswith("File")), "")
    message = f"{what} failed on `{info.qualname or 'module body'}`: {last[-1]} ({where}); please report it"
    return special(info.path, "TML999", message, info.line, info.column + 1)


def plain(finding: Finding) -> Diagnostic:
    """The finding as plain data: positions are computed here, for what is reported only."""
    unit = finding.place.unit
    start, end = unit.locations(finding.place.node)
    fix: Fix | None = resolve(finding.fix, unit) if finding.fix is not None else None
    return Diagnostic(
        unit.source.path,
        start,
        start.row,
        start.column,
        finding.code,
        finding.message,
        end,
        finding.name,
        finding.severity,
        tuple(_related(m, p) for m, p in finding.related),
        fix,
        noqa_row=end.row,
        end_offset=unit.span(finding.place.node)[1],
    )


def _related(message: str, place: Place) -> Related:
    start, end = place.unit.locations(place.node)
    return Related(message, place.unit.source.path, start, end)
