"""One run against another, and the pages that quote both."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from torchmemlint.dev.measured import Measurements, filled, load, ratio, sentence
from torchmemlint.verify.closeness import closeness, compared
from torchmemlint.verify.judge import MIB

ROOT = Path(__file__).parent.parent


def usage(peak: int, held: int = 0, program: str = "p") -> dict[str, Any]:
    return {"status": "ok", "program": program, "peak": peak, "held": held, "slope": 0, "allocated": peak}


def case(bad: dict[str, Any], good: dict[str, Any], verdict: str = "confirmed", meter: str = "cuda") -> dict[str, Any]:
    claims = [{"name": "effect", "verdict": verdict, "detail": "peak so and so"}]
    return {"effect": "peak", "meter": meter, "verdict": verdict, "claims": claims, "bad": bad, "good": good}


def run(meter: str, date: str, **cases: dict[str, Any]) -> dict[str, Any]:
    env = {"meter": meter, "device": f"{meter} card", "torch": "2.13.0", "date": date, "time": "10:00:00Z"}
    return {"environment": env, "cases": {name: {**c, "meter": c["meter"] and meter} for name, c in cases.items()}}


RECORD = run(
    "cuda",
    "2026-02-02",
    near=case(usage(100 * MIB, 8 * MIB), usage(50 * MIB)),
    off=case(usage(100 * MIB), usage(50 * MIB)),
    tiny=case(usage(4096), usage(512)),
    turned=case(usage(9 * MIB), usage(8 * MIB), "refuted"),
    edited=case(usage(9 * MIB), usage(8 * MIB)),
    unseen=case(usage(9 * MIB), usage(8 * MIB)),
)
PREDICTION = run(
    "virtual",
    "2026-01-31",
    near=case(usage(101 * MIB, 8 * MIB), usage(50 * MIB)),
    off=case(usage(100 * MIB), usage(60 * MIB)),
    tiny=case(usage(4608), usage(1024)),
    turned=case(usage(9 * MIB), usage(8 * MIB)),
    edited=case(usage(9 * MIB, program="q"), usage(8 * MIB)),
    new=case(usage(9 * MIB), usage(8 * MIB)),
)


def test_a_run_is_compared_with_itself() -> None:
    same = compared(RECORD, RECORD)
    assert not [row for row in same.rows if row.differs]
    assert (same.otherwise, same.changed, same.only_ours, same.only_theirs) == ({}, [], [], [])
    assert "peak within 2% in 100%, exact in 100% (median 0.0%, worst 0%)" in closeness(same)
    assert "Verdict the same in 6 of 6 cases" in closeness(same)


def test_a_comparison_names_what_differs() -> None:
    found = compared(PREDICTION, RECORD)
    assert [(row.case, row.variant, row.differs) for row in found.rows if row.differs] == [
        ("off", "good", ["peak 60 MiB, recorded 50 MiB", "allocated 60 MiB, recorded 50 MiB"])
    ]
    assert found.otherwise == {"turned": ("confirmed", "refuted")}
    assert (found.changed, found.only_theirs, found.only_ours) == (["edited"], ["unseen"], ["new"])
    assert ("edited", "bad") not in [(row.case, row.variant) for row in found.rows], "another program is no evidence"
    assert found.cases([row.near("peak") for row in found.rows]) == (4, 5)
    assert found.cases([row.exact("peak") for row in found.rows]) == (2, 5)
    assert "Recorded only: unseen" in closeness(found)


def test_what_the_cpu_stood_in_for_is_no_prediction() -> None:
    stood_in = copy.deepcopy(PREDICTION)
    stood_in["cases"]["near"]["meter"] = "cpu"
    assert "near" in compared(stood_in, RECORD).only_theirs
    assert closeness(compared(stood_in, {**RECORD, "cases": {}})).startswith("nothing to compare")


def test_the_pages_count_what_was_predicted() -> None:
    text = Measurements(RECORD, PREDICTION).sections["closeness"]
    assert "| peak within 2% | 90% | 80.0% (4 of 5) | 88.9% (8 of 9) |" in text
    assert "| the same verdict | all but those named | 80.0% (4 of 5) | |" in text
    assert "out of sample" in text
    assert "Another verdict than predicted: `turned` (refuted, not confirmed)." in text
    assert "Not predicted: only a GPU can show it, or it came later: `unseen`." in text
    assert "| off good | 60 MiB → 50 MiB | 0 B → 0 B |" in text
    later = copy.deepcopy(PREDICTION)
    later["environment"]["date"] = "2026-02-03"
    assert "in sample" in Measurements(RECORD, later).sections["closeness"].replace("out of sample", "")


def test_the_pages_list_fixtures_and_facts() -> None:
    figures = {"state": {"claimed": "2x", "measured": 2.004}, "kept": {"claimed": "8 MiB", "measured": 8 * MIB}}
    fact = {"meter": "cuda", "verdict": "confirmed", "claims": [], "figures": figures, "fact": usage(1)}
    sections = Measurements({**RECORD, "cases": {**RECORD["cases"], "facts/adam": fact}}, PREDICTION).sections
    assert sections["facts"].splitlines()[2:] == ["| adam | state | 2x | 2× |", "| adam | kept | 8 MiB | 8 MiB |"]
    assert "| off | peak | peak so and so | +0.0%, +20.0% | exact | confirmed |" in sections["fixtures"]
    assert "| unseen | peak | peak so and so | not predicted | – | confirmed |" in sections["fixtures"]
    assert "5 of 6 fixtures and 1 of 1 facts" in sections["measured"]
    assert "The others: `turned` refuted." in sections["measured"]
    assert Measurements().sections == {}


def test_sections_are_renewed_between_their_markers() -> None:
    page = "a\n<!-- facts: begin -->\nold\n<!-- facts: end -->\nb\n"
    once = filled(page, {"facts": r"new \1", "absent": "x"})
    assert once == (
        "a\n<!-- facts: begin (made by `python -m torchmemlint.dev docs`) -->\nnew \\1\n<!-- facts: end -->\nb\n"
    )
    assert filled(once, {"facts": r"new \1"}) == once
    assert filled("a\n<!-- facts: begin -->\n<!-- facts: end -->\n", {"facts": "new"}).splitlines()[2] == "new"


@pytest.mark.parametrize(
    ("effect", "bad", "good", "shown"),
    [
        ("peak", 31 * MIB, 10 * MIB, "peak 3.1× → 1×"),
        ("held", 8 * MIB, 512, "held 8 MiB → 0"),
        ("grows", 8 * MIB, 0, "8 MiB → 0 a step"),
        ("grows", 8 * MIB, MIB, "8.0× → 1× a step"),
        ("copies", 300 * MIB, MIB, "allocated >100× → 1×"),
        ("none", MIB, MIB, "no bytes"),
    ],
)
def test_a_rules_figure_is_a_ratio(effect: str, bad: int, good: int, shown: str) -> None:
    assert ratio({"effect": effect, "bad_bytes": bad, "good_bytes": good}) == shown
    assert (ratio(None), sentence(None)) == ("–", "")


def test_the_newest_record_and_prediction_are_read(tmp_path: Path) -> None:
    records, predictions = tmp_path / "torchmemlint" / "verify" / "records", tmp_path / "docs" / "predictions"
    for folder, found in ((records, RECORD), (predictions, PREDICTION)):
        folder.mkdir(parents=True)
        older = copy.deepcopy(found)
        older["environment"]["time"] = "09:59:59Z"
        (folder / "z.json").write_text(json.dumps(older), encoding="utf-8")
        (folder / "a.json").write_text(json.dumps(found), encoding="utf-8")
    assert load(tmp_path) == Measurements(RECORD, PREDICTION)
    assert load(tmp_path / "nowhere") == Measurements()


def test_the_prediction_of_the_pages_keeps_the_schema() -> None:
    from torchmemlint.verify.records import load as load_record

    (path,) = (ROOT / "docs" / "predictions").glob("*.json")
    found = load_record(str(path))
    assert found["environment"]["meter"] == "virtual"
    assert len(found["environment"]["calibration"]) == 12
