"""What the program keeps of its interpretations, and how it lets go of them."""

from __future__ import annotations

from collections.abc import Iterable

from torchmemlint.flow.callers import Sites
from torchmemlint.flow.function import FunctionFlow
from torchmemlint.flow.questions import Bulk


class Interpretations(Bulk):
    """Bulky answers: interpretations of functions, and the calls in them that others ask for."""

    def weight(self, answer: object) -> int:
        """How many operations it keeps in memory."""
        return 10 + len(answer.ops) if isinstance(answer, FunctionFlow) else 10

    def within(self, answer: object) -> Iterable[FunctionFlow]:
        """The functions with the calls."""
        return (site.flow for site in answer.calls) if isinstance(answer, Sites) else ()

    def take_apart(self, answer: object) -> None:
        """Operations hold those that use them and those that they use, their values them."""
        if isinstance(answer, FunctionFlow):
            answer.take_apart()
