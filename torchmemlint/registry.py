"""The rule API: a rule is a class with a code, a name, a docstring and methods that subscribe to events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from torchmemlint.findings import Finding, Place, Severity

if TYPE_CHECKING:
    import libcst as cst

    from torchmemlint.fixes import Plan
    from torchmemlint.flow.events import Event

Handler = Callable[[Any, Any], Iterator[Finding]]


def on(event: type[Event], *names: str) -> Callable[[Handler], Handler]:
    """Subscribe a method to `event`; for `OpClosed`, to the operations called `names` only."""

    def mark(handler: Handler) -> Handler:
        subscriptions = getattr(handler, "subscriptions", ())
        handler.subscriptions = (*subscriptions, (event, names))  # type: ignore[attr-defined]
        return handler

    return mark


class Rule:
    """Base of all rules. The docstring is the documentation: What it does, Why it costs memory, Known limits,
    Fix safety, References."""

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity] = Severity.WARNING
    words: ClassVar[frozenset[str]] = frozenset()
    """A function can matter to the rule only if one of these identifiers occurs in it; empty: taken from the
    subscribed operations (the part after the last dot)."""

    @classmethod
    def subscriptions(cls) -> Iterator[tuple[type[Event], tuple[str, ...], str]]:
        """(event, operation names, method name) for each subscribed method."""
        for attribute in sorted(dir(cls)):
            if attribute == "subscriptions":
                continue
            for event, names in getattr(getattr(cls, attribute), "subscriptions", ()):
                yield event, names, attribute

    @classmethod
    def triggers(cls) -> frozenset[str]:
        """Identifiers one of which a function must contain for this rule to look at it."""
        named = {n.rpartition(".")[2] for _, names, _ in cls.subscriptions() for n in names}
        return cls.words or frozenset(named)

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
