"""Facts: programs that measure what is said of PyTorch's memory, each number with its claim."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from torchmemlint.verify.cases import FACTS, Case, CaseError, gather, read
from torchmemlint.verify.judge import BROKEN, CONFIRMED, INCONCLUSIVE, MIB, REFUTED, SKIPPED, figure_claim
from torchmemlint.verify.pool import Pool
from torchmemlint.verify.records import as_json, problems_of, record
from torchmemlint.verify.run import Plan, Setting, Verified, verify
from torchmemlint.verify.table import markdown

TEXT = '''
"""Adam keeps two copies."""

import torch

FIGURES = {"state": "2x", "gradients": "4 MiB", "peak of the first step": ">= 3x"}


def fact(device, look):
    model = torch.nn.Linear(1024, 1024, bias=False).to(device)
    parameters = look().live
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    model(torch.ones(8, 1024).to(device)).sum().backward()
    gradients = look().live - parameters
    optimizer.step()
    peak = look().peak
    optimizer.zero_grad()
    return {
        "state": (look().live - parameters) / parameters,
        "gradients": gradients,
        "peak of the first step": peak / parameters,
    }
'''
SABOTAGE = {
    "right": ("", "", CONFIRMED, ""),
    "claim_doubled": ('"state": "2x"', '"state": "4x"', REFUTED, "4x claimed, 2× measured"),
    "bound_too_high": ('">= 3x"', '">= 9x"', REFUTED, ">= 9x claimed"),
    "bytes_are_wrong": ('"4 MiB"', '"3.9 MiB"', REFUTED, "3.9 MiB claimed, 4 MiB measured"),
    "a_figure_is_absent": ('"gradients": gradients,', "", INCONCLUSIVE, "no such figure was measured"),
    "no_claim": ('"4 MiB"', '"as said"', INCONCLUSIVE, "write it as 2x"),
    "raises": ("optimizer.step()", "raise ValueError('sabotage')", BROKEN, "failed: ValueError: sabotage"),
    "endless": ("optimizer.step()", "while True: pass", BROKEN, "timeout"),
    "needs_a_device": ("peak = look().peak", "peak = look().reserved", BROKEN, "those of a real device"),
}
ENVIRONMENT = {"meter": "cpu", "device": "CPU", "torch": "2", "date": "2026-01-31"}


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(1) as started:
        yield started


def run(folder: Path, text: str, meter: str, pool: Pool) -> Verified:
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    plan = Plan(meter, timeout=10.0, limit=1 << 30)
    (found,) = verify([read(path)], plan, Setting(meter, {**ENVIRONMENT, "meter": meter}), pool)
    return found


@pytest.mark.parametrize("name", SABOTAGE)
def test_the_verdict_on_a_sabotaged_fact(name: str, tmp_path: Path, pool: Pool) -> None:
    old, new, verdict, reason = SABOTAGE[name]
    assert old in TEXT
    found = run(tmp_path, TEXT.replace(old, new) if old else TEXT, "cpu", pool)
    assert found.verdict == verdict, found.claims
    assert any(reason in claim.detail for claim in found.claims if claim.verdict == verdict), found.claims


def test_a_fact_is_predicted_too(tmp_path: Path, pool: Pool) -> None:
    found = run(tmp_path, TEXT, "virtual", pool)
    assert (found.verdict, found.meter, found.note) == (CONFIRMED, "virtual", "")
    setting = Setting("virtual", {**ENVIRONMENT, "meter": "virtual"})
    kept = record(as_json([found], setting))
    assert list(problems_of(kept)) == []
    assert kept["cases"]["mine"]["figures"]["gradients"] == {"claimed": "4 MiB", "measured": 4 * MIB}
    assert "| mine | fact | 3 of 3 figures |  | confirmed |" in markdown([found], setting)


def test_what_only_a_device_has_is_never_predicted(tmp_path: Path, pool: Pool) -> None:
    text = TEXT.replace("peak = look().peak", "peak = look().clock").replace("FIGURES", 'DEVICE = "cuda"\nFIGURES', 1)
    found = run(tmp_path, text, "virtual", pool)
    assert (found.verdict, found.meter, found.note) == (SKIPPED, "", "only a GPU can show this")


def test_facts_come_after_the_fixtures_and_have_a_name() -> None:
    facts = gather([FACTS])
    assert [case.name for case in facts][:1] == ["facts/cached_blocks"]
    assert all(case.figures and not case.code for case in facts)
    assert gather([])[-len(facts) :] == facts
    with pytest.raises(CaseError, match=r"no fixture belongs to `fact`.*FACTS"):
        gather(["fact"])


def test_the_optimizers_and_the_cache_are_among_them() -> None:
    claims = {name: claim for case in gather([FACTS]) for name, claim in case.figures.items()}
    assert claims["gradients"] == "1x"
    assert [claims[f"state of {name}"] for name in ("SGD", "SGD with momentum", "Adam", "AdamW")] == [
        "0x",
        "1x",
        "2x",
        "2x",
    ]
    assert claims["returned by empty_cache while they are alive"] == "0x"
    assert "Adam, foreach=False" in claims


def test_a_file_with_a_fact_needs_no_pair(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT, encoding="utf-8")
    assert read(tmp_path / "a.py").figures["state"] == "2x"
    assert [case.name for case in gather([str(tmp_path)])] == ["a"]
    (tmp_path / "a.py").write_text(TEXT.replace("FIGURES", "NUMBERS"), encoding="utf-8")
    with pytest.raises(CaseError, match="no function bad"):
        read(tmp_path / "a.py")


@pytest.mark.parametrize(
    ("claim", "found", "verdict"),
    [
        ("2x", [2.0], CONFIRMED),
        ("2×", [2.03, 1.97], CONFIRMED),
        ("2x", [2.0, 2.1], REFUTED),
        ("0x", [0.009], CONFIRMED),
        ("0x", [0.02], REFUTED),
        ("0x", [-0.02], REFUTED),
        ("0 B", [512.0], CONFIRMED),
        ("0 B", [float(MIB)], REFUTED),
        (">= 1.1x", [1.1, 5.0], CONFIRMED),
        (">= 1.1x", [1.09, 5.0], REFUTED),
        ("<= 0.3x", [0.19], CONFIRMED),
        ("<= 0.3x", [0.31], REFUTED),
        ("8 MiB", [8.1 * MIB], CONFIRMED),
        ("> 2x", [3.0], INCONCLUSIVE),
    ],
)
def test_a_figure_is_held_against_its_claim(claim: str, found: list[float], verdict: str) -> None:
    assert figure_claim("x", claim, found).verdict == verdict


def test_repeats_that_differ_are_both_told() -> None:
    assert figure_claim("x", "2x", [3.0, 2.0]).detail == "2x claimed, 2× to 3× measured"


def test_facts_are_measured_after_everything_else(pool: Pool) -> None:
    cases = [
        Case(Path("a.py"), "", figures={"x": "1x"}),
        Case(Path("b.py"), "def bad(d, p): ...\ndef good(d, p): ...\n", effect="none"),
    ]
    found = verify(cases, Plan("cpu", timeout=20.0), Setting("cpu", {}), pool)
    assert [result.case.path.name for result in found] == ["b.py", "a.py"]
