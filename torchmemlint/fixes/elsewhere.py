"""Steps in another function of the same file: a fix that has to change two functions together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torchmemlint.fixes.plan import Change, Ground, Plan, Refused, Step, grounded

if TYPE_CHECKING:
    from torchmemlint.flow.units import Unit


@dataclass(frozen=True)
class _Within(Step):
    unit: Unit
    step: Step

    def changes(self, place: Ground) -> Iterator[Change]:
        if self.unit.source.path != place.unit.source.path or self.unit.source.data != place.unit.source.data:
            raise Refused("another file")
        ground = Ground(self.unit)
        ground.refuse_unfaithful()
        yield from grounded(self.step, self.unit).changes(ground)


def within(unit: Unit, plan: Plan) -> Plan:
    """The plan with its steps made in `unit`, whatever function the finding stands in."""
    return replace(plan, steps=tuple(_Within(unit, step) for step in plan.steps))
