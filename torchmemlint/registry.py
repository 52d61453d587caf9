"""The rule API: a rule is a class with a code, a name, a docstring and methods that subscribe to events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from torchmemlint.findings import Finding, Place, Severity
from torchmemlint.index.marks import AIDS, RUNS_MODULES

if TYPE_CHECKING:
    import libcst as cst

    from torchmemlint.fixes import Plan
    from torchmemlint.flow.events import Event
    from torchmemlint.index.model import FileIndex, FunctionInfo

Handler = Callable[[Any, Any], Iterator[Finding]]


def on(event: type[Event], *names: str) -> Callable[[Handler], Handler]:
    """Subscribe a method to `event`; for `OpClosed`, to the operations called `names` only."""

    def mark(handler: Handler) -> Handler:
        subscriptions = getattr(handler, "subscriptions", ())
        handler.subscriptions = (*subscriptions, (event, names))  # type: ignore[attr-defined]
        return handler

    return mark


ROLES = frozenset({"module", "init", "forward", "function"})
RUNS = frozenset({"module", "function"})
"""The roles of code that runs models, not defines them: what a forward collects is used up in its own graph."""


def role(info: FunctionInfo) -> str:
    """What sort of code a function is: a file's top level, a constructor, a forward, or any other."""
    if not info.name:
        return "module"
    if info.owner is not None and info.name in ("__init__", "__new__"):
        return "init"
    return "forward" if info.owner is not None and info.name == "forward" else "function"


class Rule:
    """Base of all rules. The docstring is the documentation: What it does, Why it costs memory, Known limits,
    Fix safety, References."""

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity] = Severity.WARNING
    words: ClassVar[frozenset[str]] = frozenset()
    """A function can matter to the rule only if one of these identifiers occurs in it; empty: taken from the
    subscribed operations (the part after the last dot). Pseudo-words of `index.marks` stand for forms of code."""
    modules: ClassVar[frozenset[str]] = frozenset()
    """Module classes: where the file names one, a function that calls something unknown matters too."""
    needs: ClassVar[tuple[frozenset[str], ...]] = ()
    """Further groups of identifiers: one of each must occur in the function too."""
    loud: ClassVar[tuple[frozenset[str], ...]] = ()
    """Such groups for findings above hint: where hints are hidden, other functions need not be looked at."""
    file_words: ClassVar[frozenset[str]] = frozenset()
    """One of these must occur somewhere in the file; empty: no such condition."""
    roles: ClassVar[frozenset[str]] = ROLES
    """The roles of functions it looks at: "module" (a file's top level), "init", "forward", "function"."""
    loud_roles: ClassVar[frozenset[str]] = ROLES
    """Those of them in which it can find more than a hint; unset: all."""
    names: ClassVar[frozenset[str]] = frozenset()
    """The names of the functions it looks at; empty: whatever they are called."""

    @classmethod
    @cache
    def subscriptions(cls) -> tuple[tuple[type[Event], tuple[str, ...], str], ...]:
        """(event, operation names, method name) for each subscribed method."""
        methods = ((name, getattr(cls, name)) for name in sorted(dir(cls)) if name != "subscriptions")
        return tuple(
            (event, names, attribute)
            for attribute, method in methods
            for event, names in getattr(method, "subscriptions", ())
        )

    @classmethod
    @cache
    def reads_operators(cls) -> bool:
        """Do torch's operators alone decide its findings? What callers pass then changes nothing."""
        named = [name for _, names, _ in cls.subscriptions() for name in names or ("",)]
        return all(name.startswith("torch.") for name in named)

    @classmethod
    @cache
    def triggers(cls) -> frozenset[str]:
        """Identifiers one of which a function must contain for this rule to look at it."""
        named = {n.rpartition(".")[2] for _, names, _ in cls.subscriptions() for n in names}
        return cls.words or frozenset(named)

    @classmethod
    def matters(cls, info: FunctionInfo, file: FileIndex, words: frozenset[str], hints: bool = True) -> bool:
        """Can the rule find something in this function? Decided by its words and pseudo-words alone, before anything
        is parsed; `hints`: is a hint worth it?"""
        for group in cls.needs if hints else (*cls.needs, *cls.loud):
            if words.isdisjoint(group):
                return False
        if words.isdisjoint(cls.triggers()) and not cls._may_call(words, file):
            return False
        if cls.names and info.name not in cls.names:
            return False
        roles = cls.roles if hints or cls.loud_roles is ROLES else cls.loud_roles
        return roles is ROLES or ("forward" if AIDS in words else role(info)) in roles

    @classmethod
    def concerns(cls, file: FileIndex) -> bool:
        """Can the rule find something in this file?"""
        return not cls.file_words or not file.words.isdisjoint(cls.file_words)

    @classmethod
    def decides_itself(cls) -> bool:
        """Has it a `matters` of its own, so that its words alone do not tell?"""
        return "matters" in {name for base in cls.__mro__[: cls.__mro__.index(Rule)] for name in vars(base)}

    @classmethod
    def _may_call(cls, words: frozenset[str], file: FileIndex) -> bool:
        return RUNS_MODULES in words and not file.words.isdisjoint(cls.modules)

    def finding(
        self,
        event: Event,
        node: cst.CSTNode,
        message: str,
        *,
        severity: Severity | None = None,
        related: tuple[tuple[str, Place], ...] = (),
        fix: Plan | None = None,
    ) -> Finding:
        """A finding at `node` of the event's function."""
        place = Place(event.function.unit, node)
        return Finding(self.code, self.name, severity or self.severity, message, place, related, fix)
