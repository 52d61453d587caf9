"""Deep calls take their room on Python's stack once, not at each border of a piece."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from torchmemlint.roomy import roomy

CALLS = 300


def faults(work: Callable[[], object]) -> int:
    """The pages that the system had to give while it ran: what is given back and taken again counts each time."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    work()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def called_at(depth: int) -> None:
    """Call a function many times from so many calls down."""
    if depth:
        called_at(depth - 1)
        return
    for _ in range(CALLS):
        nothing()


def nothing() -> None:
    pass


def up_and_down() -> None:
    for depth in range(400):
        called_at(depth)


def test_gives_what_the_call_gives() -> None:
    assert roomy(lambda: 3) == 3
    with pytest.raises(ValueError, match="own error"):
        roomy(lambda: int("own error"))


@pytest.mark.skipif(
    sys.platform != "linux" or sys.implementation.name != "cpython" or sys.version_info < (3, 11),
    reason="the system's count of pages; older Pythons keep frames elsewhere",
)
def test_calls_at_a_border_take_no_new_pages() -> None:
    bare, with_room = faults(up_and_down), faults(lambda: roomy(up_and_down))
    assert bare > CALLS  # at least one of the depths lies at a border
    assert with_room < bare / 3


def test_deep_calls_still_end_at_the_limit() -> None:
    def endless() -> None:
        endless()

    with pytest.raises(RecursionError):
        roomy(endless)
