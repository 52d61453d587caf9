"""Verdicts, from figures alone."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from torchmemlint.verify.judge import (
    BROKEN,
    CONFIRMED,
    INCONCLUSIVE,
    MIB,
    REFUTED,
    SKIPPED,
    Outcome,
    amount_claim,
    cured,
    effect_claim,
    figures,
    fix_claim,
    human,
    middle,
    result_claim,
    same,
    shows,
    worst,
)
from torchmemlint.verify.usage import GRANULE, Usage, rounded


def usage(peak: int = 0, samples: tuple[int, ...] = (0, 0, 0, 0), allocated: int = 0) -> Usage:
    return Usage(samples=list(samples), peak=peak, allocated=allocated)


def growing(step: int, steps: int = 6) -> Usage:
    return usage(samples=tuple(itertools.accumulate([step] * steps)))


def ok(usage_: Usage, value: list[dict[str, Any]] | None = None, repeats: tuple[Usage, ...] = ()) -> Outcome:
    return Outcome("ok", usage=usage_, value=value, repeats=repeats)


def number(value: float, kind: str = "float") -> list[dict[str, Any]]:
    return [{"type": kind, "values": [value]}]


@pytest.mark.parametrize(
    ("effect", "bad", "good", "shown"),
    [
        ("grows", growing(8 * MIB), growing(0), True),
        ("grows", growing(8 * MIB), growing(7 * MIB), False),
        ("grows", growing(1024), growing(0), False),
        ("peak", usage(30 * MIB), usage(20 * MIB), True),
        ("peak", usage(21 * MIB), usage(20 * MIB), False),
        ("peak", usage(2 * MIB // 3), usage(MIB // 3), False),
        ("held", usage(samples=(9 * MIB,)), usage(samples=(MIB,)), True),
        ("held", usage(samples=(MIB,)), usage(samples=(9 * MIB,)), False),
        ("copies", usage(allocated=90 * MIB), usage(allocated=80 * MIB), True),
        ("copies", usage(allocated=80 * MIB), usage(allocated=80 * MIB), False),
        ("none", usage(20 * MIB), usage(20 * MIB), True),
        ("none", usage(30 * MIB), usage(20 * MIB), False),
        ("none", growing(MIB), growing(0), False),
    ],
)
def test_an_effect_is_seen_where_it_is(effect: str, bad: Usage, good: Usage, shown: bool) -> None:
    assert shows(effect, bad, good) is shown
    assert effect_claim(effect, ok(bad), ok(good)).verdict == (
        INCONCLUSIVE if effect == "grows" and len(bad.samples) < 3 else CONFIRMED if shown else REFUTED
    )


def test_a_refuted_none_names_what_differs() -> None:
    claim = effect_claim("none", ok(usage(8 * MIB, allocated=30 * MIB)), ok(usage(8 * MIB, allocated=20 * MIB)))
    assert (claim.verdict, claim.detail) == (REFUTED, "30 MiB → 20 MiB allocated (1.50×)")


def test_growth_is_judged_after_the_warm_up() -> None:
    """Gradients and optimizer state appear in the first steps, and are no growth."""
    assert usage(samples=(0, 50, 100, 100, 100, 100)).slope == 0
    assert growing(7).slope == 7


def test_too_few_steps_are_inconclusive() -> None:
    few = usage(samples=(0, 8 * MIB))
    assert effect_claim("grows", ok(few), ok(growing(0))).verdict == INCONCLUSIVE
    assert effect_claim("peak", ok(usage(8 * MIB, samples=())), ok(usage(MIB))).verdict == INCONCLUSIVE


def test_repeats_that_differ_are_inconclusive() -> None:
    high, low = usage(30 * MIB), usage(20 * MIB)
    assert effect_claim("peak", ok(high, repeats=(high, low)), ok(low, repeats=(low, low))).verdict == INCONCLUSIVE
    assert effect_claim("peak", ok(high, repeats=(high, high)), ok(low, repeats=(low, low))).verdict == CONFIRMED
    assert middle([low, high, high]) is high


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("3x", CONFIRMED),
        ("3.2×", CONFIRMED),
        ("6x", REFUTED),
        ("1.5x", REFUTED),
        ("16 MiB", CONFIRMED),
        ("32 MiB", REFUTED),
        ("0.0156 GiB", CONFIRMED),
        ("a lot", INCONCLUSIVE),
    ],
)
def test_a_claimed_amount_is_compared(claim: str, verdict: str) -> None:
    assert amount_claim(claim, "peak", usage(24 * MIB), usage(8 * MIB)).verdict == verdict


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (number(1.0), number(1.0), True),
        (number(1.0), number(1.00005), True),
        (number(1.0), number(1.001), False),
        (number(1.0, "bfloat16"), number(1.01, "bfloat16"), True),
        (number(1.0, "float64"), number(1.00001, "float64"), False),
        (number(float("nan")), number(float("nan")), True),
        (number(float("inf")), number(1.0), False),
        (number(1.0), number(1.0) * 2, False),
        ([{"type": "float32", "shape": [2], "values": [1.0, 2.0]}], number(1.0), False),
        ([{"type": "str", "values": ["a"]}], [{"type": "str", "values": ["b"]}], False),
        (None, number(1.0), False),
    ],
)
def test_results_are_compared_by_their_type(a: Any, b: Any, equal: bool) -> None:
    assert (same(a, b) == "") is equal
    assert (same(b, a) == "") is equal


def test_a_changed_result_is_refuted_and_an_unknown_one_inconclusive() -> None:
    right, wrong = ok(usage(), number(1.0)), ok(usage(), number(2.0))
    assert result_claim("result", wrong, right, None).verdict == REFUTED
    assert result_claim("result", wrong, right, 2.0).verdict == CONFIRMED
    assert result_claim("result", ok(usage()), right, None).verdict == INCONCLUSIVE


@pytest.mark.parametrize(
    ("fix", "fixed", "verdict"),
    [
        ("cures", ok(usage(8 * MIB)), CONFIRMED),
        ("cures", ok(usage(9 * MIB)), CONFIRMED),
        ("cures", ok(usage(12 * MIB)), REFUTED),
        ("numbers", ok(usage(24 * MIB)), CONFIRMED),
        ("cures", None, REFUTED),
        ("", None, None),
        ("", ok(usage(24 * MIB)), REFUTED),
        ("cures", Outcome("crashed"), BROKEN),
    ],
)
def test_a_fix_gives_back_nine_tenths(fix: str, fixed: Outcome | None, verdict: str | None) -> None:
    claim = fix_claim(fix, "peak", ok(usage(24 * MIB)), fixed, ok(usage(8 * MIB)))
    assert (claim.verdict if claim else None) == verdict


def test_no_effect_is_cured_when_both_are_alike() -> None:
    assert cured("none", usage(9 * MIB), usage(8 * MIB), usage(8 * MIB))
    assert not cured("none", usage(8 * MIB), usage(9 * MIB), usage(8 * MIB))


def test_the_worst_claim_decides() -> None:
    assert worst([CONFIRMED, REFUTED, INCONCLUSIVE]) == REFUTED
    assert worst([CONFIRMED, INCONCLUSIVE]) == INCONCLUSIVE
    assert worst([REFUTED, BROKEN]) == BROKEN
    assert worst([]) == SKIPPED


def test_figures_read_well() -> None:
    assert human(8 * MIB) == "8 MiB"
    assert human(1.25 * MIB) == "1.25 MiB"
    assert human(-512) == "-512 B"
    assert figures("peak", usage(24 * MIB), usage(8 * MIB)) == "peak 24 MiB → 8 MiB (3.00×)"
    assert figures("grows", growing(8 * MIB), growing(0)) == "8 MiB → 0 B a step"
    assert figures("grows", growing(8 * MIB), growing(512)) == "8 MiB → 512 B a step (>100×)"
    assert rounded(1) == rounded(GRANULE) == GRANULE
    assert rounded(0) == 0


def test_a_timeline_is_thinned_without_losing_its_peak() -> None:
    line = [i % 7 for i in range(1000)]
    line[613] = 99
    thin = Usage(samples=[1], peaks=[99], marks=[500], timeline=line, peak=99).thinned(100)
    assert len(thin.timeline) <= 100
    assert max(thin.timeline) == 99
    assert thin.marks == [50]
    assert thin.peak == 99
    assert Usage.from_dict(thin.as_dict()) == thin
